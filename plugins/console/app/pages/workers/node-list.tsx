import type { NodeView } from 'zin/plugins/workers'
import { refreshInterval } from '../../data/session.js'
import { useData } from '../../data/use-data.js'
import { plural } from '../../format.js'
import { path } from '../../router.js'
import { Badge } from '../../ui/badge.js'
import { Card, Page } from '../../ui/layout.js'
import { Link } from '../../ui/link.js'
import { Loaded } from '../../ui/states.js'
import { type Column, Table } from '../../ui/table.js'
import { Time } from '../../ui/time.js'

export interface NodeListResponse {
  readonly nodes: readonly NodeView[]
}

const columns: readonly Column<NodeView>[] = [
  { key: 'node', title: 'Node', cell: ({ id }) => <span class="mono">{id}</span>, sort: ({ id }) => id },
  {
    key: 'state',
    title: 'State',
    cell: (node) => <NodeState node={node} />,
    sort: ({ alive, draining }) => (alive ? Number(draining) : 2),
  },
  { key: 'busy', title: 'Running', numeric: true, cell: ({ busy }) => busy, sort: ({ busy }) => busy },
  {
    key: 'lease',
    title: 'Lease ends',
    numeric: true,
    cell: ({ leaseUntil }) => <Time at={leaseUntil} />,
    sort: ({ leaseUntil }) => leaseUntil,
  },
  {
    key: 'does',
    title: 'Role',
    hideOn: 'phone',
    cell: ({ consumes }) => (consumes ? 'runs workers' : <span class="dim">management only</span>),
  },
  {
    key: 'region',
    title: 'Region',
    hideOn: 'tablet',
    cell: ({ region }) => region || <span class="dim">–</span>,
    sort: ({ region }) => region,
  },
  {
    key: 'started',
    title: 'Started',
    numeric: true,
    hideOn: 'phone',
    cell: ({ startedAt }) => <Time at={startedAt} />,
    sort: ({ startedAt }) => startedAt,
  },
]

export function NodeState({ node: { alive, draining } }: { readonly node: NodeView }) {
  if (alive && draining) return <Badge tone="warn">drains</Badge>
  return alive ? <Badge tone="ok">alive</Badge> : <Badge tone="bad">lease lost</Badge>
}

/** The processes of the app, lost nodes first. */
export function NodeList() {
  const nodes = useData<NodeListResponse>('/api/nodes', { refresh: refreshInterval() })
  return (
    <Page title="Nodes" parent={{ title: 'Workers', to: '/workers' }}>
      <Loaded from={nodes}>
        {({ nodes: list }) => (
          <Card flush>
            <Table
              label="Nodes"
              columns={columns}
              rows={list}
              rowKey={({ id }) => id}
              href={({ id }) => path`/nodes/${id}`}
              sort={{ key: 'state', down: true }}
            />
          </Card>
        )}
      </Loaded>
    </Page>
  )
}

/** A link to the nodes, with the number of live and lost ones. */
export function NodeCount() {
  const nodes = useData<NodeListResponse>('/api/nodes', { refresh: 2 * refreshInterval() })
  if (nodes.data === undefined) return null
  const lost = nodes.data.nodes.filter(({ alive }) => !alive).length
  return (
    <Link to="/nodes" class="button">
      {plural(nodes.data.nodes.length - lost, 'node')}
      {lost > 0 && <Badge tone="bad">{lost} lost</Badge>}
    </Link>
  )
}
