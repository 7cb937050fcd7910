import type { JobFlowNode } from 'zin/plugins/queue-monitor'
import { path } from '../router.js'
import { Badge, type Tone } from '../ui/badge.js'
import { Link } from '../ui/link.js'

const tones: Readonly<Record<string, Tone>> = { failed: 'bad', processing: 'info', completed: 'ok', waiting: 'neutral' }

interface Current {
  readonly id: string
  readonly queue: string
}

/** A flow from left to right: each job followed by the jobs it waits for. */
export function FlowTree({ current, root }: { readonly root: JobFlowNode; readonly current: Current }) {
  return (
    <section class="flow" aria-label="Flow">
      <FlowItem node={root} current={current} />
    </section>
  )
}

function FlowItem({ current, node }: { readonly node: JobFlowNode; readonly current: Current }) {
  const isCurrent = node.id === current.id && node.queue === current.queue
  return (
    <div class="flow-item">
      <div class={`flow-node ${node.status}${isCurrent ? ' current' : ''}`}>
        <Link to={path`/queues/${node.queue}/jobs/${node.id}`} title={node.name} current={isCurrent}>
          {node.name}
        </Link>
        <div class="flow-meta">
          <Badge tone={tones[node.status] ?? 'neutral'}>{node.state}</Badge>
          <span>{node.queue}</span>
        </div>
      </div>
      {(node.children.length > 0 || node.more > 0) && (
        <ul>
          {node.children.map((child) => (
            <li key={`${child.queue}:${child.id}`}>
              <FlowItem node={child} current={current} />
            </li>
          ))}
          {node.more > 0 && (
            <li>
              <div class="flow-node dim">{node.more} more not shown</div>
            </li>
          )}
        </ul>
      )}
    </div>
  )
}
