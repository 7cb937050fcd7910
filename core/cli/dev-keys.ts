import { execFile, spawn } from 'node:child_process'
import type { ReadStream } from 'node:tty'

/** What the keys of `zin dev` do. */
export interface DevKeys {
  restart(): void
  open(path: '/' | '/docs'): void
  quit(): void
}

/** For the line that `zin dev` begins with. */
export const keysText = 'press r to restart, o to open the app, d to open its docs, q to quit'

/**
 * Reads single keys from a terminal. Returns undefined if the process runs in the background, where reading would suspend it; otherwise a
 * function that ends it.
 */
export async function readKeys(input: ReadStream, keys: DevKeys): Promise<(() => void) | undefined> {
  if (!(await isInForeground())) return undefined
  const actions: Readonly<Record<string, () => void>> = {
    r: () => keys.restart(),
    o: () => keys.open('/'),
    d: () => keys.open('/docs'),
    q: () => keys.quit(),
    // In raw mode, Ctrl-C and Ctrl-D send no signal.
    '\u0003': () => keys.quit(),
    '\u0004': () => keys.quit(),
  }
  const onData = (data: Buffer): void => {
    for (const key of data.toString('utf8')) actions[key]?.()
  }
  input.setRawMode(true)
  input.on('data', onData).resume()
  return () => {
    input.off('data', onData).pause()
    input.setRawMode(false)
  }
}

/** Whether this process belongs to the group that its terminal is connected to. */
function isInForeground(): Promise<boolean> {
  if (process.platform === 'win32') return Promise.resolve(true)
  return new Promise((resolve) => {
    execFile('ps', ['-o', 'pgid=,tpgid=', '-p', String(process.pid)], { timeout: 2_000 }, (error, out) => {
      const [group, ofTerminal] = out.trim().split(/\s+/)
      // A system without ps, such as a container, is rarely used with job control.
      resolve(error !== null || group === ofTerminal)
    })
  })
}

/** Opens an address in the browser. `onError` gets the reason if there is no program for that. */
export function openUrl(url: string, onError: (reason: string) => void): void {
  const [command, args] = opener(url)
  const child = spawn(command, args, { detached: true, stdio: 'ignore' })
  child.on('error', ({ message }) => onError(message))
  child.on('exit', (code) => {
    if (code !== 0 && code !== null) onError(`${command} exited with code ${code}`)
  })
  child.unref()
}

function opener(url: string): readonly [command: string, args: readonly string[]] {
  if (process.platform === 'darwin') return ['open', [url]]
  if (process.platform === 'win32') return ['rundll32', ['url.dll,FileProtocolHandler', url]]
  return ['xdg-open', [url]]
}
