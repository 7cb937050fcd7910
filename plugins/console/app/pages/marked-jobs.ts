import { useRef, useState } from 'preact/hooks'
import type { JobDetails } from 'zin/plugins/queue-monitor'
import type { Selection } from '../ui/table.js'
import { toast } from '../ui/toast.js'

type Marks = ReadonlySet<string>

interface Marked {
  /** Ids. */
  readonly marked: Marks
  readonly selection: Selection<JobDetails>
  readonly clear: () => void
}

/** The selected jobs of a list. A range extends from the row that was selected last. */
export function useMarked(rowAt: (index: number) => JobDetails | undefined): Marked {
  const [marked, set] = useState<Marks>(new Set())
  const range = useRef<{ readonly from: number; readonly before: Marks } | undefined>(undefined)
  const toggle = (index: number): void => {
    const id = rowAt(index)?.id
    if (id === undefined) return
    const next = new Set(marked)
    if (!next.delete(id)) next.add(id)
    range.current = { from: index, before: next }
    set(next)
  }
  const extend = (from: number, to: number): void => {
    range.current ??= { from, before: marked }
    const [first, last] = [Math.min(range.current.from, to), Math.max(range.current.from, to)]
    const rows = Array.from({ length: last - first + 1 }, (_, offset) => rowAt(first + offset))
    const ids = rows.flatMap((row) => row?.id ?? [])
    if (ids.length < rows.length)
      toast('bad', 'Rows that have not been loaded yet are not selected. Scroll to load them, or use the buttons for all jobs')
    set(new Set([...range.current.before, ...ids]))
  }
  const clear = (): void => {
    range.current = undefined
    set(new Set())
  }
  return { marked, selection: { has: ({ id }) => marked.has(id), toggle, extend }, clear }
}
