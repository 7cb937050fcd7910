import { useMemo } from 'preact/hooks'
import type { ConsoleModule, ConsolePlace } from '../../../contract.js'
import { absolute } from '../../absolute.js'
import { request } from '../../data/api.js'
import { can, refreshInterval } from '../../data/session.js'
import { useData } from '../../data/use-data.js'
import { plural } from '../../format.js'
import { setQuery } from '../../router.js'
import { Badge } from '../../ui/badge.js'
import { ActionButton } from '../../ui/dialog.js'
import { Card, Page } from '../../ui/layout.js'
import { Empty, Loaded } from '../../ui/states.js'
import { Time } from '../../ui/time.js'
import { ChartGrid } from '../chart-grid.js'
import { Timeline } from '../decisions/timeline.js'
import { chartsOf, mostLines } from './multiples.js'
import { NodesTable } from './nodes.js'
import type { Alert, AlertsResponse, CurrentResponse, HistoryResponse, Snapshot, TrendsResponse } from './types.js'

export const resourcePages: ConsoleModule = () => ({
  pages: [
    {
      path: '/resources',
      title: 'Resources',
      plugin: 'resources',
      may: 'operate',
      nav: { icon: 'resource', order: 70, key: 'r' },
      view: Resources,
    },
  ],
})

const ranges = [
  ['1', '1 h'],
  ['6', '6 h'],
  ['24', '24 h'],
  ['168', '7 d'],
  ['720', '30 d'],
] as const

function Resources({ query }: ConsolePlace) {
  const [node, wanted] = [query.get('node') ?? '', query.get('hours') ?? '1']
  const hours = ranges.some(([id]) => id === wanted) ? Number(wanted) : 1
  const current = useData<CurrentResponse>('/api/resources/current', { refresh: 2 * refreshInterval() })
  const alerts = useData<AlertsResponse>('/api/resources/alerts', { refresh: 2 * refreshInterval() })
  const trends = useData<TrendsResponse>('/api/resources/trends', { refresh: 60_000 })
  const of = node === '' ? '' : `&node=${encodeURIComponent(node)}`
  const history = useData<HistoryResponse>(`/api/resources/history?hours=${hours}${of}`, { refresh: 30_000 })
  return (
    <Page
      title="Resources"
      actions={current.data !== undefined && <Monitoring running={current.data.monitoring.running} done={current.reload} />}
    >
      <Alerts alerts={alerts.data?.alerts ?? []} />
      <Loaded from={current}>
        {({ current: nodes, monitoring }) =>
          nodes.length === 0 && (history.data?.history.length ?? 0) === 0 ? (
            <Card>
              <Empty title={monitoring.running ? 'No measurements yet' : 'Monitoring is stopped'}>{monitoring.reason}</Empty>
            </Card>
          ) : (
            <Card title={plural(nodes.length, 'node')} flush>
              <NodesTable nodes={nodes} trends={trends.data?.trends ?? []} chosen={node} />
            </Card>
          )
        }
      </Loaded>
      <div class="filters">
        <fieldset class="segmented" aria-label="Range">
          {ranges.map(([id, title]) => (
            <label key={id}>
              <input
                type="radio"
                name="hours"
                checked={Number(id) === hours}
                onChange={() => setQuery({ hours: id === '1' ? undefined : id })}
              />
              <span>{title}</span>
            </label>
          ))}
        </fieldset>
        {node !== '' && (
          <button type="button" class="button" onClick={() => setQuery({ node: undefined })}>
            Node {node.slice(0, 24)}: show all nodes
          </button>
        )}
      </div>
      <Loaded from={history}>
        {(read) => (
          <Multiples
            read={read}
            at={history.at ?? Date.now()}
            hours={hours}
            alerts={alerts.data}
            trends={trends.data}
            newest={current.data?.current ?? []}
          />
        )}
      </Loaded>
      {alerts.data !== undefined && alerts.data.recent.length > 0 && (
        <Card title="Recent alerts" flush>
          <Timeline decisions={alerts.data.recent.slice(0, 10)} />
        </Card>
      )}
    </Page>
  )
}

function Alerts({ alerts }: { readonly alerts: readonly Alert[] }) {
  return (
    <>
      {alerts.map(({ node, reason, rule, since }) => (
        <p key={`${node} ${rule}`} class="stale" role="status">
          <Badge tone="warn">{rule}</Badge>
          <span>
            {reason} on {node}, since <Time at={since} />
          </span>
        </p>
      ))}
    </>
  )
}

function Monitoring({ done, running }: { readonly running: boolean; readonly done: () => void }) {
  if (!can('operate')) return null
  const verb = running ? 'stop' : 'start'
  return (
    <ActionButton
      label={running ? 'Stop monitoring' : 'Start monitoring'}
      confirm={{
        title: running ? 'Stop monitoring?' : 'Start monitoring?',
        text: running
          ? 'No process records measurements until monitoring is started again: there will be no charts and no alerts about nodes.'
          : 'All processes of the app record measurements, including after a restart.',
      }}
      run={async () => (await request<{ message: string }>('POST', `/api/resources/${verb}`).finally(done)).message}
    />
  )
}

interface MultiplesProps {
  readonly read: HistoryResponse
  readonly at: number
  readonly hours: number
  readonly alerts: AlertsResponse | undefined
  readonly trends: TrendsResponse | undefined
  readonly newest: readonly Snapshot[]
}

function Multiples({ alerts, at, hours, newest, read, trends }: MultiplesProps) {
  const { history, resolution, truncated } = read
  const nodes = useMemo(() => busiest(history, newest), [history, newest.length])
  const charts = useMemo(
    () =>
      chartsOf({
        history,
        nodes: nodes.slice(0, mostLines),
        alerts: alerts?.alerts ?? [],
        trends: trends?.trends ?? [],
        marks: (alerts?.recent ?? []).map(({ at: when, reason }) => ({ at: Date.parse(when), text: reason })),
        hours,
        now: at,
      }),
    [history, nodes, alerts, trends, hours, at],
  )
  const oldest = history.at(-1)
  if (oldest === undefined) return <Empty title="No measurements in this range">Choose a longer range, or start monitoring.</Empty>
  const notes = [
    ...(nodes.length > mostLines ? [`the ${mostLines} busiest of ${nodes.length} nodes; select another one in the table`] : []),
    ...(truncated ? [`only data since ${absolute(Date.parse(oldest.at))}; select a node to see more`] : []),
    ...(resolution === 'coarse' ? ['one point per five minutes'] : []),
  ]
  return (
    <Card>
      {notes.length > 0 && <p class="dim">Showing {notes.join('; ')}.</p>}
      <ChartGrid charts={charts} />
    </Card>
  )
}

/** Nodes by event loop utilization; nodes that no longer report come last. */
function busiest(history: readonly Snapshot[], newest: readonly Snapshot[]): readonly string[] {
  const live = [...newest].sort((a, b) => b.eventLoopUtilization - a.eventLoopUtilization).map(({ node }) => node)
  const known = new Set(history.map(({ node }) => node))
  return [...new Set([...live.filter((node) => known.has(node)), ...known])]
}
