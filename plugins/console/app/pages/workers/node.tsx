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
import { Timeline } from '../decisions/timeline.js'
import { NodeState, type NodesAnswer } from './node-list.js'

/** One process of the app: whether its lease is valid, and what that means. */
export function NodePage({ params: { id = '' } }: ConsolePlace) {
  const nodes = useData<NodesAnswer>('/api/nodes', { refresh: refreshInterval() })
  const node = nodes.data?.nodes.find((one) => one.id === id)
  return (
    <Page title={id} parent={{ title: 'Nodes', to: '/nodes' }} badge={node !== undefined && <NodeState alive={node.alive} />}>
      <Loaded from={nodes}>{() => (node === undefined ? <Unknown /> : <Details node={node} />)}</Loaded>
    </Page>
  )
}

function Unknown() {
  return (
    <Card>
      <Empty title="No such node">
        It has stopped, or lost its lease more than five minutes ago. <Link to="/nodes">Show all nodes</Link>
      </Empty>
    </Card>
  )
}

function Details({ node }: { readonly node: NodeView }) {
  const { alive, consumes, host, id, leaseUntil, pid, region, startedAt } = node
  return (
    <>
      {!alive && (
        <p class="error-line">
          <Icon name="bad" />
          <span>
            {id} lost its lease <Time at={leaseUntil} />: it did not renew it in time. Other nodes have taken over its share of the workers,
            and run its unfinished jobs again.
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
            ['Does', consumes ? 'runs workers' : 'manages workers only'],
            ...(isEnabled('resources') ? [['Resources', <Link to={path`/resources?node=${id}`}>its last hour</Link>] as const] : []),
          ]}
        />
      </Card>
      {!alive && (
        <Card title="What to look at">
          <ol class="steps">
            <li>
              Whether process {pid} on {host} still exists: it was killed, ran out of memory, or its machine is gone.
            </li>
            <li>
              If it exists, its log before the lease ended: a blocked event loop or a lost connection to the store keeps it from renewing.
            </li>
            <li>It rejoins by itself as soon as it can renew its lease; until then it takes no jobs.</li>
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
    <Card title="Decisions about it" flush>
      <Loaded from={decisions}>
        {({ decisions: list }) =>
          list.length === 0 ? <Empty title="Nothing was decided about it" /> : <Timeline decisions={list} brief />
        }
      </Loaded>
    </Card>
  )
}
