import { PassThrough } from 'node:stream'
import type { Dialog } from '../host/command.js'

/** Keys to type once the screen shows a text. */
export type Typed = readonly [after: string, keys: string]

/** Creates a terminal with simulated input. `shown` returns its output. */
export function fakeTerminal(
  ...typed: readonly Typed[]
): Dialog & { readonly input: PassThrough; readonly output: PassThrough; shown(): string } {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined })
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 })
  const waiting = [...typed]
  let text = ''
  output.on('data', (chunk: Buffer) => {
    text += chunk.toString()
    const [after, keys] = waiting[0] ?? []
    if (after === undefined || !text.includes(after)) return
    waiting.shift()
    // The prompt reads input only after it is drawn.
    setImmediate(() => input.write(keys))
  })
  return { input, output, shown: () => text }
}
