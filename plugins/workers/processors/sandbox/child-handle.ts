import type { Readable } from 'node:stream'
import type { Entry } from './entry.js'
import type { FromChild, ToChild } from './protocol.js'

export interface ChildOptions {
  readonly entry: Entry
  readonly env: Readonly<Record<string, string>>
  /** Maximum size of the old generation of the heap, in MiB. */
  readonly memoryMb: number
}

/** Handle of a thread or process that runs the entry. */
export interface ChildHandle {
  readonly kind: 'thread' | 'process'
  readonly stdout: Readable
  readonly stderr: Readable
  /** Resolves to a description of how it ended. Never rejects. */
  readonly ended: Promise<string>
  /** Sends a message. Throws if it cannot be cloned; does nothing after the end. */
  post(message: ToChild): void
  /** Passes on messages of the entry. What the code of the processor sends is ignored, unless it forges the form of those messages. */
  onMessage(listener: (message: FromChild) => void): void
  /** Ends it immediately. @param why for the description of its end. */
  kill(why?: string): void
}
