// Runs several test files in one process: starting a process costs more than most of them take.
// Each file becomes a suite, so that its hooks stay its own. TEST_COMPILED names the folder with the compiled files, see compile.ts.
import { join, resolve } from 'node:path'
import { describe } from 'node:test'
import { pathToFileURL } from 'node:url'
import './testing/quick-start.mjs'

const { TEST_COMPILED: compiled } = process.env
const moduleOf = (file) => (compiled === undefined ? resolve(file) : join(compiled, file.replace(/\.ts$/, '.js')))

for (const file of process.argv.slice(2)) describe(file, () => import(pathToFileURL(moduleOf(file)).href).then(() => {}))
