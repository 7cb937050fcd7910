import { useEffect, useRef, useState } from 'preact/hooks'
import type { JobDetails, JobPage, ListedStatus } from 'zin/plugins/queue-monitor'
import { request } from '../data/api.js'
import { messageOf } from '../data/message.js'
import { usePagedRows } from '../data/pages-of.js'
import { can } from '../data/session.js'
import { useData } from '../data/use-data.js'
import { exact, plural } from '../format.js'
import { path, setQuery } from '../router.js'
import { extentOf, type Searched } from '../search-extent.js'
import { ask } from '../ui/dialog.js'
import { Card } from '../ui/layout.js'
import { Empty, Loaded, Loading, Problem, Stale } from '../ui/states.js'
import { type Column, RowsTable } from '../ui/table.js'
import { Duration, Time } from '../ui/time.js'
import { toast } from '../ui/toast.js'
import { BulkActions } from './bulk-actions.js'
import { type JobVerb, verbsOf } from './job-actions.js'
import { useMarked } from './marked-jobs.js'
import { undo } from './operations.js'

interface JobsProps {
  readonly queue: string
  readonly status: ListedStatus
  readonly count: number
  readonly query: string
}

const columnsBase: readonly Column<JobDetails>[] = [
  { key: 'id', title: 'Job', width: '88px', cell: ({ id }) => <span class="mono">{id}</span> },
  { key: 'name', title: 'Name', cell: ({ name }) => <span title={name}>{name}</span> },
]
const errorColumn: Column<JobDetails> = {
  key: 'error',
  title: 'Error',
  cell: ({ error, withheld }) => <span title={error ?? ''}>{withheld ? 'hidden' : error}</span>,
}
const lastError: Column<JobDetails> = { ...errorColumn, title: 'Last error', hideOn: 'tablet' }
const attempts: Column<JobDetails> = {
  key: 'attempts',
  title: 'Attempts',
  numeric: true,
  hideOn: 'phone',
  width: '88px',
  cell: (job) => `${job.attempts} of ${job.maxAttempts}`,
}
const timeColumn = (title: string, of: (job: JobDetails) => string | null): Column<JobDetails> => ({
  key: title,
  title,
  numeric: true,
  width: '120px',
  cell: (job) => <Time at={of(job)} />,
})
const runTime: Column<JobDetails> = {
  key: 'ran',
  title: 'Ran',
  numeric: true,
  hideOn: 'tablet',
  width: '88px',
  cell: ({ processingTime }) => <Duration ms={processingTime} />,
}

const columns: Readonly<Record<ListedStatus, readonly Column<JobDetails>[]>> = {
  failed: [...columnsBase, errorColumn, attempts, runTime, { ...timeColumn('Failed', ({ failedAt }) => failedAt), hideOn: 'phone' }],
  waiting: [...columnsBase, lastError, attempts, timeColumn('Added', ({ createdAt }) => createdAt)],
  active: [...columnsBase, lastError, attempts, timeColumn('Started', ({ startedAt }) => startedAt)],
  delayed: [...columnsBase, lastError, attempts, timeColumn('Ready', ({ readyAt }) => readyAt)],
  completed: [...columnsBase, attempts, runTime, timeColumn('Completed', ({ completedAt }) => completedAt)],
}

/** The jobs of a queue in one state: all of them, loaded while scrolling, or the results of a search. */
export function QueueJobs(props: JobsProps) {
  const { query, queue, status } = props
  const [text, setText] = useState(query)
  const declared = useData<{ readonly fields: readonly string[] }>(path`/api/queue/${queue}/fields`)
  const fields = declared.data?.fields.map((field) => `data.${field}:…`) ?? []
  return (
    <>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault()
          setQuery({ q: text.trim() })
        }}
      >
        <input
          class="input"
          type="search"
          aria-label="Search these jobs"
          placeholder={['Search: text, id:… name:… error:…', ...fields].join(' ')}
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value)
            if (event.currentTarget.value === '') setQuery({ q: undefined })
          }}
        />
        <button type="submit" class="button">
          Search
        </button>
      </form>
      {query === '' ? <AllJobs {...props} /> : <FoundJobs queue={queue} status={status} query={query} />}
    </>
  )
}

function AllJobs({ count, queue, status }: JobsProps) {
  const jobs = usePagedRows<JobDetails>(
    `/api/jobs/${status}?queue=${encodeURIComponent(queue)}`,
    ({ jobs: rows, pagination }: JobPage) => ({
      rows,
      total: pagination.total,
    }),
  )
  const { clear, marked, selection } = useMarked(jobs.rowAt)
  const { error, total } = jobs
  // Rows do not move while the user reads: new jobs appear when the user asks for them.
  const seen = useRef(count)
  if (total === undefined) seen.current = count
  const fresh = total === undefined ? 0 : count - total
  const reload = (): void => {
    clear()
    jobs.reload()
  }
  useEffect(() => {
    if (total === 0 && count > 0) jobs.reload()
  }, [count])
  if (total === undefined) return error === undefined ? <Loading /> : <Problem error={error} retry={jobs.reload} />
  return (
    <>
      {error !== undefined && <Stale at={jobs.at} message={error.message} retry={jobs.reload} />}
      <BulkBar queue={queue} status={status} total={total} marked={marked} done={reload} clear={clear} />
      {fresh !== 0 && total > 0 && (
        <p class="note" role="status">
          {fresh > 0 ? `${exact(fresh)} new` : `${exact(-fresh)} gone`}{' '}
          <button type="button" class="button small" onClick={reload}>
            Show
          </button>
        </p>
      )}
      <Card flush>
        <RowsTable
          label={`${status} jobs of ${queue}`}
          columns={columns[status]}
          count={total}
          rowAt={jobs.rowAt}
          onWindow={jobs.onWindow}
          rowKey={({ id }) => id}
          href={({ id }) => path`/queues/${queue}/jobs/${id}`}
          selection={can('write') ? selection : undefined}
          empty={<Empty title={`No ${status} jobs`}>{emptyHints[status]}</Empty>}
        />
      </Card>
    </>
  )
}

const emptyHints: Readonly<Record<ListedStatus, string>> = {
  failed: 'Jobs that have failed all their attempts appear here.',
  waiting: 'Jobs that are ready to run appear here.',
  active: 'Jobs that are running appear here.',
  delayed: 'Jobs scheduled for later, or waiting for their next attempt, appear here.',
  completed: 'Completed jobs appear here; they are kept for a limited time.',
}

interface Search {
  readonly jobs: readonly JobDetails[]
  readonly searched: Searched
}

function FoundJobs({ query, queue, status }: Omit<JobsProps, 'count'>) {
  const found = useData<Search>(`/api/jobs?queue=${encodeURIComponent(queue)}&status=${status}&limit=100&q=${encodeURIComponent(query)}`)
  const { clear, marked, selection } = useMarked((index) => found.data?.jobs[index])
  return (
    <Loaded from={found} what="Searching">
      {({ jobs, searched }) => (
        <>
          <p class="note" role="status">
            {jobs.length === 100 ? 'The first 100 matches' : plural(jobs.length, 'match', 'matches')}; {extentOf(searched)}
          </p>
          {marked.size > 0 && <MarkedActions queue={queue} status={status} marked={marked} clear={clear} done={found.reload} />}
          <Card flush>
            <RowsTable
              label={`Jobs matching ${query}`}
              columns={columns[status]}
              count={jobs.length}
              rowAt={(index) => jobs[index]}
              rowKey={({ id }) => id}
              href={({ id }) => path`/queues/${queue}/jobs/${id}`}
              selection={can('write') ? selection : undefined}
              empty={
                <Empty title={`No matching ${status} jobs`}>
                  <button type="button" class="button" onClick={() => setQuery({ q: undefined })}>
                    Show all {status} jobs
                  </button>
                </Empty>
              }
            />
          </Card>
        </>
      )}
    </Loaded>
  )
}

interface BarProps {
  readonly queue: string
  readonly status: ListedStatus
  readonly marked: ReadonlySet<string>
  readonly clear: () => void
  readonly done: () => void
}

function BulkBar({ total, ...props }: BarProps & { readonly total: number }) {
  if (!can('write') || total === 0) return null
  if (props.marked.size > 0) return <MarkedActions {...props} />
  return (
    <div class="bulk">
      <span class="dim">All {exact(total)}</span>
      <BulkActions queue={props.queue} status={props.status} done={props.done} />
    </div>
  )
}

const consequences: Readonly<Partial<Record<JobVerb['verb'], string>>> = {
  cancel: 'Jobs that have not started are removed; running jobs are aborted.',
  delete: 'They are deleted with their data and logs. This can be undone for ten minutes.',
}

/** Actions on the selected jobs, sent one request at a time. Cancelling and deleting must be confirmed. */
function MarkedActions({ clear, done, marked, queue, status }: BarProps) {
  const [busy, setBusy] = useState(false)
  const act = async ({ method, past, verb }: JobVerb): Promise<void> => {
    setBusy(true)
    let changed = 0
    let problem: string | undefined
    const operations: string[] = []
    for (const id of marked) {
      const suffix = method === 'DELETE' ? '' : `/${verb}`
      try {
        const url = `${path`/api/jobs/${id}`}${suffix}?queue=${encodeURIComponent(queue)}`
        const { operation } = await request<{ operation?: string | null }>(method, url)
        if (typeof operation === 'string') operations.push(operation)
        changed++
      } catch (error) {
        problem = messageOf(error)
      }
    }
    setBusy(false)
    clear()
    done()
    if (changed > 0)
      toast('ok', `${plural(changed, 'job')} ${past}`, operations.length === 0 ? undefined : () => void undo(operations, done))
    if (problem !== undefined) toast('bad', `${marked.size - changed} not ${past}: ${problem}`)
  }
  const choose = (action: JobVerb): void => {
    const text = consequences[action.verb]
    if (text === undefined) {
      void act(action)
      return
    }
    ask({
      title: `${action.title} ${plural(marked.size, `selected ${status} job`)} of ${queue}?`,
      text,
      verb: action.title,
      tone: 'bad',
      run: async () => {
        await act(action)
        return undefined
      },
    })
  }
  return (
    <div class="bulk">
      <span>{plural(marked.size, 'job')} selected</span>
      {verbsOf(status).map((action) => (
        <button key={action.verb} type="button" class="button small" disabled={busy} onClick={() => choose(action)}>
          {action.title}
        </button>
      ))}
      <button type="button" class="button small" onClick={clear}>
        Clear
      </button>
    </div>
  )
}
