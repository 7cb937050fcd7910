import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { resolve, sep } from 'node:path'

/** A disk of a size of its own for one folder of this process. Works where nothing can be mounted. */
export interface SmallDisk {
  /** Free space in bytes. */
  free: number
  /** Whether the system reports the free space; a quota often does not show. */
  told: boolean
  restore(): void
}

/** Limits how far files in `folder` can grow through the synchronous functions of `node:fs`, which PGlite uses. Files that shrink free nothing. */
export function smallDisk(folder: string, free: number): SmallDisk {
  const { closeSync, fstatSync, lstatSync, openSync, statfsSync, truncateSync, writeSync } = fs
  const original = { closeSync, fstatSync, lstatSync, openSync, statfsSync, truncateSync, writeSync }
  const inside = `${resolve(folder)}${sep}`
  const isInside = (path: unknown): boolean => typeof path === 'string' && `${resolve(path)}${sep}`.startsWith(inside)
  const open = new Set<number>()
  const disk: SmallDisk = {
    free,
    told: true,
    restore() {
      Object.assign(fs, original)
      syncBuiltinESMExports()
    },
  }
  const grow = (from: number, to: number): void => {
    const bytes = to - from
    if (bytes <= 0) return
    if (bytes > disk.free) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC', errno: -28 })
    disk.free -= bytes
  }
  Object.assign(fs, {
    openSync(...args: Parameters<typeof fs.openSync>) {
      const fd = original.openSync(...args)
      if (isInside(args[0])) open.add(fd)
      return fd
    },
    closeSync(fd: number) {
      open.delete(fd)
      original.closeSync(fd)
    },
    writeSync(...args: [number, Uint8Array, number, number, number | null]) {
      const [fd, , , length, position] = args
      const { size } = open.has(fd) ? original.fstatSync(fd) : { size: 0 }
      if (open.has(fd)) grow(size, (position ?? size) + length)
      return original.writeSync(...args)
    },
    truncateSync(path: string, length = 0) {
      if (isInside(path)) grow(original.lstatSync(path).size, length)
      original.truncateSync(path, length)
    },
    statfsSync(...args: Parameters<typeof fs.statfsSync>) {
      const stats = original.statfsSync(...args)
      return isInside(args[0]) && disk.told ? Object.assign(stats, { bsize: 1, bavail: disk.free }) : stats
    },
  })
  syncBuiltinESMExports()
  return disk
}
