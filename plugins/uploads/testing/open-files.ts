import { readdirSync, readlinkSync } from 'node:fs'

/** Number of files in a folder that a process has open, as Linux says. */
export function openFiles(folder: string, pid: number | 'self' = 'self'): number {
  const open = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`)
    } catch {
      // Closed meanwhile.
      return ''
    }
  })
  return open.filter((path) => path.startsWith(folder)).length
}
