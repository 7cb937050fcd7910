import type { Decision } from 'zin/plugins/decisions'
import type { QueueAlert, QueueStats } from 'zin/plugins/queue-monitor'
import type { Attention } from '../../attention/attention.js'
import type { ConsoleModule, ConsolePlace } from '../../contract.js'
import { useRecent } from '../data/recent.js'
import { isEnabled, refreshInterval, session } from '../data/session.js'
import { useStats } from '../data/stats.js'
import { useData } from '../data/use-data.js'
import { count, duration, percent, rate } from '../format.js'
import { path } from '../router.js'
import { Icon } from '../ui/icon.js'
import { Card, Page, Stat } from '../ui/layout.js'
import { Link } from '../ui/link.js'
import { Panels } from '../ui/panels.js'
import { Sparkline } from '../ui/sparkline.js'
import { Empty, Loaded, Stale } from '../ui/states.js'
import { type Column, Table } from '../ui/table.js'
import { Count, Duration, Time } from '../ui/time.js'

export const overviewPages: ConsoleModule = () => ({
  pages: [{ path: '/', title: 'Overview', nav: { icon: 'overview', order: 10, key: 'o' }, view: Overview }],
})

interface Need {
  readonly key: string
  readonly tone: 'bad' | 'warn'
  readonly subject: string
  readonly text: string
  readonly since: string | undefined
  readonly to: string
}

const mostNeeds = 8
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

/** What needs attention: queue alerts, workers, nodes, breakers, canaries and jobs. */
function NeedsAttention() {
  const refresh = { refresh: refreshInterval() }
  const mayOperate = session.value?.may.operate === true
  const alerts = useData<{ alerts: readonly QueueAlert[] }>('/api/queue/alerts', refresh)
  const attention = useData<Attention>(mayOperate ? '/api/console/attention' : undefined, refresh)
  // An item that explains why attempts of a queue fail replaces the failure-rate alert of the queue.
  const explained = new Set((attention.data?.items ?? []).map(({ queue }) => queue))
  const isUnexplained = ({ queue, rule }: QueueAlert): boolean => rule !== 'failure-rate' || !explained.has(queue)
  const needs: readonly Need[] = [
    ...(attention.data?.items ?? []).map(
      ({ kind, since, subject, text, to, tone }): Need => ({ key: `${kind} ${subject} ${to}`, tone, subject, text, since, to }),
    ),
    ...(alerts.data?.alerts ?? []).filter(isUnexplained).map(
      ({ at, queue, reason, rule }): Need => ({
        key: `${rule} ${queue}`,
        tone: 'warn',
        subject: queue,
        text: reason,
        since: at,
        to: linkOf(rule, queue),
      }),
    ),
  ]
  const error = alerts.error ?? attention.error
  const isKnown = alerts.data !== undefined && (!mayOperate || attention.data !== undefined)
  const unknown = attention.data?.unknown ?? []
  return (
    <Card title="Needs attention" flush>
      {error !== undefined && <Stale at={alerts.at} message={error.message} retry={alerts.reload} />}
      {needs.length > 0 && (
        <ul class="needs">
          {needs.slice(0, mostNeeds).map(({ key, since, subject, text, to, tone }) => (
            <li key={key}>
              <span class={tone}>
                <Icon name={tone === 'bad' ? 'bad' : 'warn'} />
                <span class="visually-hidden">{tone === 'bad' ? 'Failing' : 'Warning'}</span>
              </span>
              <span class="needs-text">
                <Link to={to}>{subject}</Link> {text}
              </span>
              {since !== undefined && (
                <span class="dim">
                  <Time at={since} />
                </span>
              )}
            </li>
          ))}
          {needs.length > mostNeeds && <li class="dim">{needs.length - mostNeeds} more</li>}
        </ul>
      )}
      {needs.length === 0 && isKnown && (
        <p class="quiet">
          <Icon name="check" /> Nothing needs attention.
        </p>
      )}
      {needs.length === 0 && !isKnown && error === undefined && <p class="quiet dim">Loading…</p>}
      {unknown.length > 0 && <p class="quiet dim">Could not check: {unknown.join(', ')}.</p>}
      {attention.data?.notes.map((note) => (
        <p key={note} class="quiet dim">
          {note}
        </p>
      ))}
    </Card>
  )
}

function linkOf(rule: string, queue: string): string {
  if (rule === 'failure-rate') return path`/queues/${queue}`
  return `${path`/queues/${queue}`}?state=${rule === 'processing-time' ? 'active' : 'waiting'}`
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
