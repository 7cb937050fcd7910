import { open } from 'node:fs/promises'
import type { Clock } from 'zin'
import type { Checkpoint } from '../places/checkpoint.js'
import { anchorLine } from './line.js'

/**
 * Returns a function that appends a checkpoint to a file and waits until it is on the disk. The file is opened for each line, so that it can
 * be rotated, and never read, so that it can be append-only (`chattr +a`).
 */
export function fileAnchor(path: string, clock: Clock): (checkpoint: Checkpoint) => Promise<void> {
  /** The line before may have been cut off by a crash or a full disk. */
  let start = '\n'
  return async (checkpoint) => {
    const text = `${start}${anchorLine(checkpoint, clock.now())}\n`
    start = '\n'
    const file = await open(path, 'a', 0o600)
    try {
      await file.appendFile(text)
      await file.sync()
      start = ''
    } finally {
      await file.close()
    }
  }
}
