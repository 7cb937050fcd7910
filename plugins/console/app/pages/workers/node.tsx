import type { DecisionPage } from 'zin/plugins/decisions'
import type { NodeView } from 'zin/plugins/workers'
import type { ConsolePlace } from '../../../contract.js'
import { isEnabled, refreshInterval } from '../../data/session.js'
import { useData } from '../../data/use-data.js'
import { path } from '../../router.js'
import { Icon } from '../../ui/icon.js'
import { Card, Facts, Page } from '../../ui/layout.js'
import { Link } from '../../ui/link.js'
import { Empty, Loaded } from '../../ui/states.js'
import { FullTime, Time } from '../../ui/time.js'
import { NeedsAbout } from '../attention.js'
import { Timeline } from '../decisions/timeline.js'
import { type NodeListResponse, NodeState } from './node-list.js'

/** The page of a node: its lease and, if it was lost, what to check. */
export function NodePage({ params: { id = '' } }: ConsolePlace) {
  const nodes = useData<NodeListResponse>('/api/nodes', { refresh: refreshInterval() })
  const node = nodes.data?.nodes.find((one) => one.id === id)
  return (
    <Page title={id} parent={{ title: 'Nodes', to: '/nodes' }} badge={node !== undefined && <NodeState node={node} />}>
      <NeedsAbout subjects={(subject) => subject === `node:${id}`} />
      <Loaded from={nodes}>{() => (node === undefined ? <Unknown /> : <Details node={node} />)}</Loaded>
    </Page>
  )
}

function Unknown() {
  return (
    <Card>
      <Empty title="Node not found">
        It has stopped, or it lost its lease more than five minutes ago. <Link to="/nodes">Show all nodes</Link>
      </Empty>
    </Card>
  )
}

function Details({ node }: { readonly node: NodeView }) {
  const { alive, busy, consumes, draining, host, id, leaseUntil, pid, region, startedAt } = node
  return (
    <>
      {!alive && (
        <p class="error-line">
          <Icon name="bad" />
          <span>
            {id} lost its lease <Time at={leaseUntil} /> because it did not renew it in time. Other nodes, if there are any, run its workers
            and its unfinished jobs.
          </span>
        </p>
      )}
      <Card>
        <Facts
          of={[
            ['Host', <span class="mono">{host}</span>],
            ['Process', <span class="mono">{pid}</span>],
            [alive ? 'Lease ends' : 'Lease ended', <FullTime at={leaseUntil} />],
            ['Started', <FullTime at={startedAt} />],
            ['Region', region || '–'],
            ['Role', draining ? 'drains: it takes no new jobs' : consumes ? 'runs workers' : 'management only'],
            ['Running jobs', busy],
            ...(isEnabled('resources') ? [['Resources', <Link to={path`/resources?node=${id}`}>last hour</Link>] as const] : []),
          ]}
        />
      </Card>
      {!alive && (
        <Card title="What to check">
          <ol class="steps">
            <li>
              Check whether process {pid} on {host} still exists. It may have been killed or run out of memory, or its machine may be down.
            </li>
            <li>
              If it exists, check its log from before the lease ended. A blocked event loop or a lost store connection prevents renewal.
            </li>
            <li>It rejoins automatically once it can renew its lease. Until then it takes no jobs.</li>
          </ol>
        </Card>
      )}
      {isEnabled('decisions') && <Decisions id={id} />}
    </>
  )
}

function Decisions({ id }: { readonly id: string }) {
  const decisions = useData<DecisionPage>(`/api/decisions?subject=${encodeURIComponent(`node:${id}`)}&limit=10`, {
    refresh: refreshInterval(),
  })
  return (
    <Card title="Decisions about this node" flush>
      <Loaded from={decisions}>
        {({ decisions: list }) => (list.length === 0 ? <Empty title="No decisions" /> : <Timeline decisions={list} brief />)}
      </Loaded>
    </Card>
  )
}
