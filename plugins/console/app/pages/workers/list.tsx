import { useMemo } from 'preact/hooks'
import type { QueueEntry } from 'zin/plugins/queue-monitor'
import type { WorkerView } from 'zin/plugins/workers'
import type { ConsolePlace } from '../../../contract.js'
import { useStats } from '../../data/stats.js'
import { exact, percent, rate } from '../../format.js'
import { path, setQuery } from '../../router.js'
import { Badge } from '../../ui/badge.js'
import { Icon } from '../../ui/icon.js'
import { Card, Page } from '../../ui/layout.js'
import { Empty, Loaded } from '../../ui/states.js'
import { type Column, Table } from '../../ui/table.js'
import { Duration } from '../../ui/time.js'
import { NodeCount } from './node-list.js'
import { stateTone, type Trouble, troubleOf } from './trouble.js'
import { type UnreadWorkers, useWorkers } from './use-workers.js'

interface Row {
  readonly worker: WorkerView
  /** The queue of the worker; absent if unknown. */
  readonly queue: QueueEntry | undefined
  readonly trouble: Trouble
  /** Why its last change could not be read. */
  readonly unread: string | undefined
}

const dash = <span class="dim">–</span>
const words = ['', 'slow', 'at risk', 'failing'] as const

const columns: readonly Column<Row>[] = [
  { key: 'name', title: 'Worker', cell: ({ worker }) => <span title={worker.name}>{worker.name}</span>, sort: ({ worker }) => worker.name },
  {
    key: 'state',
    title: 'State',
    cell: ({ trouble: { rank }, unread, worker: { desired, paused, state } }) => (
      <>
        <Badge tone={stateTone(state, desired)}>{paused && state === 'running' ? 'paused' : state}</Badge>
        {unread !== undefined && (
          <span title={unread}>
            {' '}
            <Badge tone="warn">not updated</Badge>
          </span>
        )}
        {rank > 0 && (
          <span class="only-phone">
            {' '}
            <Badge tone={rank === 3 ? 'bad' : 'warn'}>{words[rank]}</Badge>
          </span>
        )}
      </>
    ),
    sort: ({ worker }) => worker.state,
  },
  {
    key: 'health',
    title: 'Health',
    cell: ({ trouble: { rank, text }, worker }) => <Health rank={rank} text={text} wanted={worker.desired === 'running'} />,
    sort: ({ trouble }) => trouble.rank,
    hideOn: 'phone',
    width: '32%',
  },
  {
    key: 'version',
    title: 'Version',
    cell: ({ worker }) => <Version of={worker} />,
    sort: ({ worker }) => worker.version,
    hideOn: 'phone',
  },
  {
    key: 'rate',
    title: 'Jobs/s',
    numeric: true,
    cell: ({ queue }) =>
      queue === undefined ? dash : <span title="Rate of its queue over the last minutes">{rate(queue.throughput)}</span>,
    sort: ({ queue }) => queue?.throughput ?? -1,
  },
  {
    key: 'failures',
    title: 'Failures, 1 h',
    numeric: true,
    cell: ({ queue }) =>
      queue === undefined || queue.failureRate === null ? (
        dash
      ) : (
        <span title={`${exact(queue.attempts)} attempts on its queue`}>{percent(queue.failureRate)}</span>
      ),
    sort: ({ queue }) => queue?.failureRate ?? -1,
    hideOn: 'phone',
  },
  {
    key: 'p95',
    title: 'p95',
    numeric: true,
    cell: ({ queue }) => <Duration ms={queue?.processingTime?.p95} />,
    sort: ({ queue }) => queue?.processingTime?.p95 ?? -1,
    hideOn: 'tablet',
  },
  {
    key: 'concurrency',
    title: 'Concurrency',
    numeric: true,
    cell: ({ worker: { concurrency, scaled } }) =>
      scaled === undefined ? (
        concurrency
      ) : (
        <span title={`Scaled from ${concurrency}: ${scaled.reason}`}>
          {scaled.concurrency} <small class="dim">of {concurrency}</small>
        </span>
      ),
    sort: ({ worker }) => worker.scaled?.concurrency ?? worker.concurrency,
    hideOn: 'tablet',
  },
]

function Health({ rank, text, wanted }: Trouble & { readonly wanted: boolean }) {
  if (rank === 0) return text === '' ? <span class="dim">{wanted ? 'healthy' : 'not meant to run'}</span> : <span title={text}>{text}</span>
  return (
    <span title={text}>
      <Badge tone={rank === 3 ? 'bad' : 'warn'}>{words[rank]}</Badge> <span>{text}</span>
    </span>
  )
}

function Version({ of: { desiredVersion, rollout, version } }: { readonly of: WorkerView }) {
  return (
    <span class="mono">
      {version}
      {rollout !== undefined && desiredVersion !== version && <span class="dim"> → {desiredVersion}</span>}
    </span>
  )
}

const filters = {
  all: { title: 'All', has: () => true },
  trouble: { title: 'Attention', has: ({ trouble }: Row) => trouble.rank > 0 },
  running: { title: 'Running', has: ({ worker }: Row) => worker.state === 'running' },
  stopped: { title: 'Stopped', has: ({ worker }: Row) => worker.desired === 'stopped' },
} as const
type Filter = keyof typeof filters

export function Workers({ query }: ConsolePlace) {
  const workers = useWorkers()
  const stats = useStats()
  const [text, chosen] = [query.get('q') ?? '', query.get('show') ?? 'all']
  const filter: Filter = Object.hasOwn(filters, chosen) ? (chosen as Filter) : 'all'
  const queues = stats.data?.queues
  const rows = useMemo(
    () =>
      workers.data?.map((worker): Row => {
        const queue = queues !== undefined && Object.hasOwn(queues, worker.queueName) ? queues[worker.queueName] : undefined
        return { worker, queue, trouble: troubleOf(worker, queue), unread: workers.unread.get(worker.name)?.message }
      }) ?? [],
    [workers.data, workers.unread, queues],
  )
  const wanted = text.toLowerCase()
  const named = rows.filter(({ worker }) =>
    [worker.name, worker.queueName, worker.version].some((one) => one.toLowerCase().includes(wanted)),
  )
  return (
    <Page title="Workers" actions={<NodeCount />}>
      <Loaded from={workers}>
        {(all) => (
          <>
            <Unread workers={workers.unread} retry={workers.retry} />
            <div class="filters">
              <fieldset class="segmented" aria-label="Show">
                {(Object.keys(filters) as Filter[]).map((id) => (
                  <label key={id}>
                    <input
                      type="radio"
                      name="show"
                      checked={id === filter}
                      onChange={() => setQuery({ show: id === 'all' ? undefined : id })}
                    />
                    <span>
                      {filters[id].title} <small class="dim">{exact(named.filter(filters[id].has).length)}</small>
                    </span>
                  </label>
                ))}
              </fieldset>
              <label class="grow">
                <span class="visually-hidden">Filter by name, queue or version</span>
                <input
                  class="input"
                  type="search"
                  placeholder="Name, queue or version"
                  value={text}
                  onInput={(event) => setQuery({ q: event.currentTarget.value })}
                />
              </label>
            </div>
            <Card flush>
              <Table
                label="Workers"
                columns={columns}
                rows={named.filter(filters[filter].has)}
                rowKey={({ worker }) => worker.name}
                href={({ worker }) => path`/workers/${worker.name}`}
                sort={{ key: 'health', down: true }}
                empty={all.length === 0 ? <None /> : <NoMatch filter={filter} />}
              />
            </Card>
          </>
        )}
      </Loaded>
    </Page>
  )
}

/** Names of workers that a note lists. */
const mostNamed = 3

function Unread({ retry, workers }: { readonly workers: UnreadWorkers; readonly retry: () => void }) {
  const [first] = workers.values()
  if (first === undefined) return null
  const names = [...workers.keys()].slice(0, mostNamed).join(', ')
  const more = workers.size > mostNamed ? ` and ${exact(workers.size - mostNamed)} more` : ''
  return (
    <p class="stale" role="status">
      <Icon name="warn" />
      <span>
        {names}
        {more} could not be read: {first.message}
      </span>
      <button type="button" class="button small" onClick={retry}>
        Try again
      </button>
    </p>
  )
}

function None() {
  return (
    <Empty title="No workers yet">
      Create one with <span class="mono">POST /api/workers</span>.
    </Empty>
  )
}

function NoMatch({ filter }: { readonly filter: Filter }) {
  return (
    <Empty title={filter === 'trouble' ? 'No worker needs attention' : 'No matching workers'}>
      <button type="button" class="button" onClick={() => setQuery({ q: undefined, show: undefined })}>
        Show all workers
      </button>
    </Empty>
  )
}
