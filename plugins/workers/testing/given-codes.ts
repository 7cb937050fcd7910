import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { workerErrors } from '../errors.js'

const root = join(import.meta.dirname, '..')

/** Every code that the plugin can answer: those of its errors, and those that its checks of inputs name. */
export async function givenCodes(): Promise<readonly string[]> {
  const checks = await Promise.all(['record', 'jobs'].map(filesOf))
  const texts = await Promise.all([...checks.flat(), 'service.ts'].map((file) => readFile(join(root, file), 'utf8')))
  const named = texts.flatMap((text) =>
    [...text.matchAll(/'((?:INVALID|MISSING|UNKNOWN|IMMUTABLE)_[A-Z_]+)'/g)].map(([, code = '']) => code),
  )
  return [...new Set([...named, ...Object.keys(workerErrors)])]
}

async function filesOf(folder: string): Promise<readonly string[]> {
  const names = await readdir(join(root, folder))
  return names.filter((name) => /^[\w-]+\.ts$/.test(name)).map((name) => join(folder, name))
}
