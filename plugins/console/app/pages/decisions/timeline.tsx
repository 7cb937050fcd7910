import type { Decision } from 'zin/plugins/decisions'
import { absolute } from '../../absolute.js'
import { path } from '../../router.js'
import { Link } from '../../ui/link.js'
import { Time } from '../../ui/time.js'

/** Decisions as sentences, newest first, each with expandable evidence. */
export function Timeline({ brief = false, decisions }: { readonly decisions: readonly Decision[]; readonly brief?: boolean }) {
  return (
    <ol class="acts">
      {decisions.map((decision) => (
        <li key={decision.id} class={brief ? 'act brief' : 'act'}>
          <Entry decision={decision} brief={brief} />
        </li>
      ))}
    </ol>
  )
}

function Entry({ brief, decision }: { readonly decision: Decision; readonly brief: boolean }) {
  const { acted, actor, at, inputs, kind, links, reason, rule, subject, verdict } = decision
  const related = Object.entries(links ?? {})
  return (
    <>
      <p class="act-reason">{reason}</p>
      <p class="act-facts dim">
        <Time at={at} />
        {!brief && <SubjectLink subject={subject} />}
        <Link to={`/decisions?kind=${encodeURIComponent(kind)}`} title={`Show ${kind} decisions`}>
          {kind} {verdict}
        </Link>
        {!acted && <span>dry run: no action taken</span>}
      </p>
      <details class="evidence">
        <summary>Evidence</summary>
        <dl class="facts">
          <Fact name="At">{absolute(Date.parse(at))}</Fact>
          <Fact name="Rule">
            <span class="mono">{rule}</span>
          </Fact>
          <Fact name="By">
            {actor.kind} {actor.id}
          </Fact>
          {related.map(([name, to]) => (
            <Fact key={name} name={name}>
              <RelatedLink to={to} />
            </Fact>
          ))}
        </dl>
        {inputs !== undefined && <pre class="evidence-inputs">{JSON.stringify(inputs, null, 2)}</pre>}
      </details>
    </>
  )
}

function Fact({ children, name }: { readonly name: string; readonly children?: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** A subject such as `worker:email-sender`, linked to its page. */
export function SubjectLink({ subject }: { readonly subject: string }) {
  const to = pageOf(subject)
  return to === undefined ? <span>{subject}</span> : <Link to={to}>{subject}</Link>
}

function pageOf(subject: string): string | undefined {
  const at = subject.indexOf(':')
  const [type, id] = [subject.slice(0, at), subject.slice(at + 1)]
  if (type === 'worker') return path`/workers/${id}`
  if (type === 'queue') return path`/queues/${id}`
  if (type === 'node') return path`/nodes/${id}`
  return undefined
}

/** An API path, linked to the page that shows the same data, or as text if there is none. */
function RelatedLink({ to }: { readonly to: string }) {
  const [, worker] = /^\/api\/workers\/([^/?]+)(?:\/|$)/.exec(to) ?? []
  if (worker !== undefined) return <Link to={`/workers/${worker}`}>worker {decoded(worker)}</Link>
  if (to.startsWith('/api/resources')) return <Link to="/resources">resources</Link>
  return <span class="mono">{to}</span>
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
