import { open, readFile, realpath, rename, stat, unlink } from 'node:fs/promises'
import { ZinError } from '../errors.js'
import { parseEnvFile } from './env-file.js'

type Values = Readonly<Record<string, string>>

/**
 * Changes values of a `.env` file in one step: a reader sees the old file or the new one, whenever the process dies.
 * The new file is readable by its owner only. A missing file counts as empty; other lines stay as they are. Two processes
 * cannot do it at the same time.
 * Throws ENV_FILE_BUSY (another one is at it) and ZIN_ENV_FILE (the file is malformed).
 *
 * @param change gets the present values and gives the ones to write; their names and values must hold no `'` and no line break.
 */
export async function updateEnvFile(
  path: string,
  change: (present: Readonly<Record<string, string | undefined>>) => Values,
): Promise<void> {
  // A link stays one: the file that it names is the one to replace.
  const file = await realpath(path).catch(() => path)
  const temporary = `${file}.new`
  await discardIfStale(temporary)
  const handle = await open(temporary, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST' ? busy(temporary) : error
  })
  try {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return ''
      throw error
    })
    const present = parseEnvFile(text, file)
    const next = change(present)
    const changed = Object.entries(next).reduce((all, [name, value]) => assign(all, name, value), text)
    assertOnlyChanged(present, next, parseEnvFile(changed, file), file)
    await handle.writeFile(changed)
    await handle.sync()
    await handle.close()
    await rename(temporary, file)
  } catch (error) {
    await handle.close().catch(() => undefined)
    await unlink(temporary).catch(() => undefined)
    throw error
  }
}

const STALE_MS = 30_000

/** What a killed command left behind. */
async function discardIfStale(temporary: string): Promise<void> {
  const found = await stat(temporary).catch(() => undefined)
  if (found !== undefined && Date.now() - found.mtimeMs > STALE_MS) await unlink(temporary).catch(() => undefined)
}

function busy(file: string): ZinError {
  return new ZinError('ENV_FILE_BUSY', `${file} exists: another process is changing the file, or one was killed; delete it if none runs`)
}

/** Puts `name='value'` in the place of every assignment of the name, or at the end. */
function assign(text: string, name: string, value: string): string {
  const line = `${name}='${value}'`
  const assignment = new RegExp(
    `^([ \\t]*(?:export[ \\t]+)?)${name}[ \\t]*=[ \\t]*(?:'[^']*'|"(?:[^"\\\\]|\\\\[\\s\\S])*"|)[^\\r\\n]*`,
    'gm',
  )
  if (assignment.test(text)) return text.replace(assignment, (_, lead: string) => lead + line)
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  return `${text}${text === '' || text.endsWith('\n') ? '' : eol}${line}${eol}`
}

function assertOnlyChanged(
  before: Readonly<Record<string, string | undefined>>,
  next: Values,
  after: Readonly<Record<string, string | undefined>>,
  file: string,
): void {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  const wrong = [...names].filter((name) => after[name] !== (next[name] ?? before[name]))
  if (wrong.length > 0) throw new Error(`${file}: the line of ${wrong.join(', ')} is not one that can be changed safely; change it by hand`)
}
