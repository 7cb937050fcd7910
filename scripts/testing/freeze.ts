import type { ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/**
 * Suspends a process (SIGSTOP), so that its connections stay open and it never responds. The signal reaches the threads of a process one at a
 * time, and one could still respond meanwhile: on Linux, this returns when all of them have stopped.
 */
export function freeze(child: ChildProcess | undefined): void {
  if (child?.pid === undefined) return
  child.kill('SIGSTOP')
  const pause = new Int32Array(new SharedArrayBuffer(4))
  for (const end = performance.now() + 60_000; process.platform === 'linux' && !isStopped(child.pid); ) {
    if (performance.now() > end) throw new Error(`process ${child.pid} was not stopped within 60 s`)
    Atomics.wait(pause, 0, 0, 1)
  }
}

function isStopped(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).every((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')
    return stat.startsWith('T', stat.lastIndexOf(')') + 2)
  })
}
