import type { Decision } from 'zin/plugins/decisions'
import type { QueueStats } from 'zin/plugins/queue-monitor'
import type { ConsoleModule, ConsolePlace } from '../../contract.js'
import { useRecent } from '../data/recent.js'
import { isEnabled, refreshInterval, session } from '../data/session.js'
import { useStats } from '../data/stats.js'
import { useData } from '../data/use-data.js'
import { count, duration, percent, rate } from '../format.js'
import { path } from '../router.js'
import { Card, Page, Stat } from '../ui/layout.js'
import { Link } from '../ui/link.js'
import { Panels } from '../ui/panels.js'
import { Sparkline } from '../ui/sparkline.js'
import { Empty, Loaded } from '../ui/states.js'
import { type Column, Table } from '../ui/table.js'
import { Count, Duration, Time } from '../ui/time.js'
import { NeedsAttention } from './attention.js'

export const overviewPages: ConsoleModule = () => ({
  pages: [{ path: '/', title: 'Overview', nav: { icon: 'overview', order: 10, key: 'o' }, view: Overview }],
})

const mostRows = 8

function Overview(place: ConsolePlace) {
  const stats = useStats()
  return (
    <Page title="Overview">
      <NeedsAttention />
      <Loaded from={stats}>{(data) => <Headline stats={data} at={stats.at} />}</Loaded>
      <div class="columns">
        {stats.data !== undefined && <OldestQueues stats={stats.data} />}
        {isEnabled('decisions') && session.value?.may.operate === true && <LastDecisions />}
      </div>
      <Panels on="overview" place={place} />
    </Page>
  )
}

function Headline({ at, stats }: { readonly stats: QueueStats; readonly at: number | undefined }) {
  const entries = Object.values(stats.queues)
  const waiting = entries.reduce((sum, queue) => sum + queue.waiting, 0)
  const attempts = entries.reduce((sum, queue) => sum + queue.attempts, 0)
  const failures = entries.reduce((sum, queue) => sum + queue.attempts * (queue.failureRate ?? 0), 0)
  const p95 = stats.processingTime?.p95
  const recent = useRecent(at, { throughput: stats.throughput, waiting, failed: stats.failedJobs, p95: p95 ?? 0 })
  return (
    <div class="stats">
      <Stat label="Throughput" value={<Unit of={rate(stats.throughput)} unit="jobs/s" />} hint="completed attempts" href="/queues">
        <Sparkline values={recent.throughput ?? []} label="Throughput while this page is open" />
      </Stat>
      <Stat
        label="Failed attempts, 1 h"
        value={attempts === 0 ? '–' : percent(failures / attempts)}
        hint={`${count(stats.failedJobs)} failed jobs stored`}
        href="/queues"
      >
        <Sparkline values={recent.failed ?? []} series={5} label="Failed jobs while this page is open" />
      </Stat>
      <Stat
        label="Waiting"
        value={<Count value={waiting} />}
        hint={stats.oldestWaitingMs === null ? 'no jobs waiting' : `oldest ${duration(stats.oldestWaitingMs)}`}
        href="/queues"
      >
        <Sparkline values={recent.waiting ?? []} series={2} label="Waiting jobs while this page is open" />
      </Stat>
      <Stat
        label="Run time p95, 1 h"
        value={p95 === undefined ? '–' : duration(p95)}
        hint={stats.processingTime === null ? 'no attempts' : `median ${duration(stats.processingTime.p50)}`}
        href="/queues"
      >
        <Sparkline values={recent.p95 ?? []} series={3} label="95th percentile of run times while this page is open" />
      </Stat>
    </div>
  )
}

function Unit({ of, unit }: { readonly of: string; readonly unit: string }) {
  return (
    <>
      {of} <small>{unit}</small>
    </>
  )
}

interface AgedQueue {
  readonly name: string
  readonly waiting: number
  readonly oldest: number | null
  readonly failed: number
}

const agedColumns: readonly Column<AgedQueue>[] = [
  { key: 'name', title: 'Queue', width: '48%', cell: ({ name }) => <span title={name}>{name}</span> },
  { key: 'oldest', title: 'Oldest', numeric: true, cell: ({ oldest }) => <Duration ms={oldest} /> },
  { key: 'waiting', title: 'Waiting', numeric: true, cell: ({ waiting }) => <Count value={waiting} /> },
  { key: 'failed', title: 'Failed', numeric: true, cell: ({ failed }) => <Count value={failed} /> },
]

function OldestQueues({ stats }: { readonly stats: QueueStats }) {
  const rows = Object.entries(stats.queues)
    .map(([name, { failed, oldestWaitingMs, waiting }]): AgedQueue => ({ name, waiting, oldest: oldestWaitingMs, failed }))
    .sort((a, b) => (b.oldest ?? -1) - (a.oldest ?? -1) || b.failed - a.failed || (a.name < b.name ? -1 : 1))
    .slice(0, mostRows)
  return (
    <Card
      title="Queues by oldest job"
      flush
      aside={
        <Link to="/queues" class="link">
          All {stats.totalQueues}
        </Link>
      }
    >
      <Table
        label="Queues by the age of their oldest waiting job"
        columns={agedColumns}
        rows={rows}
        rowKey={({ name }) => name}
        href={({ name }) => path`/queues/${name}`}
        empty={<Empty title="No queues yet">A queue appears here with its first job or worker.</Empty>}
      />
    </Card>
  )
}

function LastDecisions() {
  const decisions = useData<{ decisions: readonly Decision[] }>(`/api/decisions?limit=${mostRows}`, { refresh: refreshInterval() })
  return (
    <Card
      title="Latest decisions"
      flush
      aside={
        <Link to="/decisions" class="link">
          All
        </Link>
      }
    >
      <Loaded from={decisions}>
        {(data) =>
          data.decisions.length === 0 ? (
            <Empty title="No decisions yet">Automatic actions and the reasons for them appear here.</Empty>
          ) : (
            <ul class="sentences">
              {data.decisions.map(({ at, id, reason, subject, verdict }) => (
                <li key={id}>
                  <span class="dim">
                    <Time at={at} />
                  </span>
                  <span>
                    <b>{subject.replace(/^\w+:/, '')}</b> <span class="dim">{verdict}:</span> {reason}
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  )
}
