import type { ResourceTrend } from 'zin/plugins/resources'
import { bytes, percent } from '../../format.js'
import { path } from '../../router.js'
import { Badge } from '../../ui/badge.js'
import { type Column, Table } from '../../ui/table.js'
import { Duration, Time } from '../../ui/time.js'
import type { Snapshot } from './types.js'

/** The latest snapshot of each node. A click on a row shows the charts of that node only. */
export function NodesTable(props: {
  readonly nodes: readonly Snapshot[]
  readonly trends: readonly ResourceTrend[]
  readonly chosen: string
}) {
  const { chosen, nodes, trends } = props
  const forecastOf = (node: string) => trends.find((one) => one.node === node && one.forecast !== undefined)
  const columns: readonly Column<Snapshot>[] = [
    {
      key: 'node',
      title: 'Node',
      cell: ({ alerts, node }) => (
        <span title={node}>
          <span class="mono">{node}</span> {alerts.length > 0 && <Badge tone="warn">{alerts.map(({ rule }) => rule).join(', ')}</Badge>}
        </span>
      ),
      sort: ({ node }) => node,
    },
    {
      key: 'loop',
      title: 'Event loop',
      numeric: true,
      cell: ({ eventLoopUtilization }) => percent(eventLoopUtilization),
      sort: ({ eventLoopUtilization }) => eventLoopUtilization,
    },
    {
      key: 'delay',
      title: 'Delay, p99',
      numeric: true,
      cell: ({ eventLoopDelayP99Ms }) => <Duration ms={eventLoopDelayP99Ms} />,
      sort: ({ eventLoopDelayP99Ms }) => eventLoopDelayP99Ms ?? -1,
      hideOn: 'phone',
    },
    {
      key: 'cpu',
      title: 'Cores',
      numeric: true,
      cell: ({ cpuCores, cpuLimit }) => (
        <span>
          {cpuCores.toFixed(2)} <small class="dim">of {cpuLimit}</small>
        </span>
      ),
      sort: ({ cpuCores }) => cpuCores,
      hideOn: 'phone',
    },
    { key: 'memory', title: 'Memory', numeric: true, cell: ({ rss }) => bytes(rss), sort: ({ rss }) => rss },
    {
      key: 'heap',
      title: 'Heap',
      numeric: true,
      cell: ({ heapLimit, heapUsed }) => <span title={`${bytes(heapUsed)} of ${bytes(heapLimit)}`}>{percent(heapUsed / heapLimit)}</span>,
      sort: ({ heapLimit, heapUsed }) => heapUsed / heapLimit,
      hideOn: 'tablet',
    },
    {
      key: 'store',
      title: 'Store',
      numeric: true,
      cell: ({ storeMs }) => <Duration ms={storeMs} />,
      sort: ({ storeMs }) => storeMs ?? -1,
      hideOn: 'tablet',
    },
    {
      key: 'forecast',
      title: 'Forecast',
      cell: ({ node }) => {
        const found = forecastOf(node)
        return found === undefined ? <span class="dim">–</span> : `${found.metric}: ${found.forecast}`
      },
      hideOn: 'phone',
    },
    { key: 'at', title: 'Sampled', numeric: true, cell: ({ at }) => <Time at={at} />, hideOn: 'phone' },
  ]
  return (
    <Table
      label="Nodes"
      columns={columns}
      rows={nodes}
      rowKey={({ node }) => node}
      href={({ node }) => (node === chosen ? '/resources' : path`/resources?node=${node}`)}
      sort={{ key: 'loop', down: true }}
    />
  )
}
