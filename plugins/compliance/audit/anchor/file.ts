import { open } from 'node:fs/promises'
import type { Clock } from 'zin'
import type { Checkpoint } from '../places/checkpoint.js'
import { anchorLine } from './line.js'

/**
 * Returns a function that appends a checkpoint to a file and waits until it is on the disk. The file is opened for each line, so that it can
 * be rotated, and never read, so that it can be append-only (`chattr +a`).
 */
export function fileAnchor(path: string, clock: Clock): (checkpoint: Checkpoint) => Promise<void> {
  return async (checkpoint) => {
    // What is there may end without a line break: a line that was cut off, or text that someone added to make the next one unreadable.
    const text = `\n${anchorLine(checkpoint, clock.now())}\n`
    const file = await open(path, 'a', 0o600)
    try {
      await file.appendFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
  }
}
