import type { QueueEntry } from 'zin/plugins/queue-monitor'
import type { ConsoleModule } from '../../contract.js'
import { useRecent } from '../data/recent.js'
import { useStats } from '../data/stats.js'
import { percent, plural, rate } from '../format.js'
import { path, setQuery, useAddress } from '../router.js'
import { Badge } from '../ui/badge.js'
import { Card, Page } from '../ui/layout.js'
import { Sparkline } from '../ui/sparkline.js'
import { Empty, Loaded } from '../ui/states.js'
import { type Column, Table } from '../ui/table.js'
import { Count, Duration } from '../ui/time.js'
import { Job } from './job.js'
import { Queue } from './queue.js'

export const queuePages: ConsoleModule = () => ({
  pages: [
    { path: '/queues', title: 'Queues', nav: { icon: 'queue', order: 20, key: 'q' }, view: Queues },
    { path: '/queues/:name', title: 'Queue', view: Queue },
    { path: '/queues/:name/jobs/:id', title: 'Job', view: Job },
  ],
})

interface QueueRow extends QueueEntry {
  readonly name: string
  readonly recent: readonly number[]
}

const columns: readonly Column<QueueRow>[] = [
  { key: 'name', title: 'Queue', cell: ({ name }) => <span title={name}>{name}</span>, sort: ({ name }) => name },
  {
    key: 'state',
    title: 'State',
    hideOn: 'phone',
    cell: ({ paused }) => (paused ? <Badge tone="warn">paused</Badge> : <span class="dim">running</span>),
    sort: ({ paused }) => Number(paused),
  },
  {
    key: 'oldest',
    title: 'Oldest',
    numeric: true,
    cell: ({ oldestWaitingMs }) => <Duration ms={oldestWaitingMs} />,
    sort: ({ oldestWaitingMs }) => oldestWaitingMs ?? -1,
  },
  { key: 'waiting', title: 'Waiting', numeric: true, cell: ({ waiting }) => <Count value={waiting} />, sort: ({ waiting }) => waiting },
  {
    key: 'delayed',
    title: 'Delayed',
    numeric: true,
    hideOn: 'tablet',
    cell: ({ delayed }) => <Count value={delayed} />,
    sort: ({ delayed }) => delayed,
  },
  {
    key: 'active',
    title: 'Active',
    numeric: true,
    hideOn: 'phone',
    cell: ({ active }) => <Count value={active} />,
    sort: ({ active }) => active,
  },
  { key: 'failed', title: 'Failed', numeric: true, cell: ({ failed }) => <Count value={failed} />, sort: ({ failed }) => failed },
  {
    key: 'failures',
    title: 'Failures, 1 h',
    numeric: true,
    hideOn: 'tablet',
    cell: ({ failureRate }) => (failureRate === null ? <span class="dim">–</span> : percent(failureRate)),
    sort: ({ failureRate }) => failureRate ?? -1,
  },
  {
    key: 'throughput',
    title: 'Jobs/s',
    numeric: true,
    hideOn: 'tablet',
    cell: ({ throughput }) => rate(throughput),
    sort: ({ throughput }) => throughput,
  },
  {
    key: 'recent',
    title: 'Size, live',
    hideOn: 'tablet',
    width: '128px',
    cell: ({ name, recent }) => <Sparkline values={recent} label={`Size of ${name} while this page is open`} />,
  },
]

function Queues() {
  const stats = useStats()
  const { search } = useAddress()
  const wanted = new URLSearchParams(search).get('name') ?? ''
  const entries = Object.entries(stats.data?.queues ?? {})
  const recent = useRecent(stats.at, Object.fromEntries(entries.map(([name, { size }]) => [name, size])))
  const rows = entries
    .filter(([name]) => name.toLowerCase().includes(wanted.toLowerCase()))
    .map(([name, entry]): QueueRow => ({ name, recent: recent[name] ?? [], ...entry }))
  return (
    <Page title="Queues" badge={stats.data !== undefined && <span class="dim">{plural(stats.data.totalQueues, 'queue')}</span>}>
      <div class="filters">
        <input
          class="input"
          type="search"
          aria-label="Filter queues by name"
          placeholder="Filter by name"
          value={wanted}
          onInput={(event) => setQuery({ name: event.currentTarget.value })}
        />
      </div>
      <Loaded from={stats}>
        {() => (
          <Card flush>
            <Table
              label="Queues"
              columns={columns}
              rows={rows}
              rowKey={({ name }) => name}
              href={({ name }) => path`/queues/${name}`}
              sort={{ key: 'oldest', down: true }}
              empty={
                wanted === '' ? (
                  <Empty title="No queues yet">A queue appears here with its first job or worker.</Empty>
                ) : (
                  <Empty title={`No queue name contains “${wanted}”`}>
                    <button type="button" class="button" onClick={() => setQuery({ name: undefined })}>
                      Show all queues
                    </button>
                  </Empty>
                )
              }
            />
          </Card>
        )}
      </Loaded>
    </Page>
  )
}
