import type { Readable } from 'node:stream'
import type { Entry } from './entry.js'
import type { ToChild } from './protocol.js'

export interface ChildOptions {
  readonly entry: Entry
  readonly env: Readonly<Record<string, string>>
  /** Heap of old objects, in MiB. */
  readonly memoryMb: number
}

/** A thread or process that runs the entry. */
export interface ChildHandle {
  readonly kind: 'thread' | 'process'
  readonly stdout: Readable
  readonly stderr: Readable
  /** How it ended, for people. Never rejects. */
  readonly ended: Promise<string>
  /** Throws when the message cannot be copied; does nothing when it has ended. */
  post(message: ToChild): void
  /** What comes may be anything: a processor can send messages as well. */
  onMessage(listener: (message: unknown) => void): void
  /** Ends it without asking. */
  kill(): void
}
