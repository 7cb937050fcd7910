// Loaded into each process of `zin test`: says why a file still runs although its tests have ended.
import { relative } from 'node:path'
import { after } from 'node:test'

/** How long a file may take to end by itself, in ms. */
const quietMs = 3_000
/** What a process always has. */
const own: ReadonlySet<string> = new Set(['PipeWrap', 'TTYWrap'])

function tell(): void {
  const counts = new Map<string, number>()
  for (const kind of process.getActiveResourcesInfo()) if (!own.has(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  const open = [...counts].map(([kind, count]) => `${count} ${kind}`).join(', ') || 'something'
  const file = relative(process.cwd(), process.argv[1] ?? '')
  process.stderr.write(
    `zin test: all tests of ${file} have ended, and it still runs, because something is open (${open}): stop each app in after(() => app.stop())\n`,
  )
}

// Not in the process that starts the others. The timer alone keeps no process alive.
if (process.env.NODE_TEST_CONTEXT !== undefined) after(() => void setTimeout(tell, quietMs).unref())
