// Runs several test files in one process: starting a process costs more than most of them take.
// Each file becomes a suite, so that its hooks stay its own.
import { resolve } from 'node:path'
import { describe } from 'node:test'
import { pathToFileURL } from 'node:url'

for (const file of process.argv.slice(2)) describe(file, () => import(pathToFileURL(resolve(file)).href).then(() => {}))
