import type { WorkerOnNode, WorkerView } from 'zin/plugins/workers'
import { path } from '../../router.js'
import { Badge } from '../../ui/badge.js'
import { Link } from '../../ui/link.js'
import { Empty } from '../../ui/states.js'
import { type Column, Table } from '../../ui/table.js'
import { Time } from '../../ui/time.js'
import { stateTone } from './trouble.js'

/** The nodes that run the worker, with the state of each. */
export function Nodes({ nodes, worker }: { readonly nodes: readonly WorkerOnNode[]; readonly worker: WorkerView }) {
  const columns: readonly Column<WorkerOnNode>[] = [
    {
      key: 'node',
      title: 'Node',
      cell: ({ node }) => (
        <Link to={path`/nodes/${node}`} class="mono" title={node}>
          {node}
        </Link>
      ),
      sort: ({ node }) => node,
    },
    {
      key: 'state',
      title: 'State',
      cell: ({ error, placed, state }) => (
        <span title={error}>
          <Badge tone={stateTone(state, worker.desired)}>{placed ? state : 'not assigned'}</Badge>
          {error !== undefined && <span> {error}</span>}
        </span>
      ),
      sort: ({ state }) => state,
    },
    { key: 'version', title: 'Version', cell: (node) => <VersionOn node={node} />, sort: ({ version }) => version ?? '', width: '30%' },
    {
      key: 'generation',
      title: 'Applied',
      numeric: true,
      cell: ({ observedGeneration }) => <Applied observed={observedGeneration} wanted={worker.generation} />,
      sort: ({ observedGeneration }) => observedGeneration,
      hideOn: 'phone',
    },
    {
      key: 'busy',
      title: 'Running',
      numeric: true,
      cell: ({ busy, concurrency }) => (
        <span>
          {busy} <small class="dim">of {concurrency}</small>
        </span>
      ),
      sort: ({ busy }) => busy,
    },
    { key: 'at', title: 'Reported', numeric: true, cell: ({ at }) => <Time at={at} />, hideOn: 'phone' },
  ]
  return (
    <Table
      label="Nodes"
      columns={columns}
      rows={nodes}
      rowKey={({ node }) => node}
      empty={
        <Empty title="Not running on any node">
          {worker.desired === 'stopped'
            ? 'The worker is stopped.'
            : 'No live node has the role worker, or its placement excludes all nodes.'}
        </Empty>
      }
    />
  )
}

function VersionOn({ node: { awaits, candidates, draining, version } }: { readonly node: WorkerOnNode }) {
  const beside = [
    ...(awaits === undefined ? [] : [`waiting for ${awaits}`]),
    ...(candidates ?? []).map((one) => `canary ${one.version}${one.error === undefined ? '' : `: ${one.error}`}`),
    ...Object.entries(draining).map(([old, jobs]) => `${jobs} still on ${old}`),
  ]
  return (
    <span title={beside.join('; ')}>
      <span class="mono">{version ?? '–'}</span> <span class="dim">{beside.join('; ')}</span>
    </span>
  )
}

function Applied({ observed, wanted }: { readonly observed: number; readonly wanted: number }) {
  return (
    <span title={`Generation ${observed} of ${wanted}`}>
      {observed >= wanted ? <span class="dim">{wanted}</span> : <Badge tone="info">{`${observed} of ${wanted}`}</Badge>}
    </span>
  )
}
