import type { AttentionItem, NotChecked } from 'zin/plugins/queue-monitor'
import type { ConsoleData, ConsoleModule } from '../../contract.js'
import { pageAt } from '../additions.js'
import { request } from '../data/api.js'
import { can, refreshInterval } from '../data/session.js'
import { useData } from '../data/use-data.js'
import { exact, plural } from '../format.js'
import { base, path, router, useAddress } from '../router.js'
import { ActionButton, ask } from '../ui/dialog.js'
import { Icon } from '../ui/icon.js'
import { Card, Page } from '../ui/layout.js'
import { Link } from '../ui/link.js'
import { Stale } from '../ui/states.js'
import { Time } from '../ui/time.js'

interface Listed {
  readonly items: readonly AttentionItem[]
  readonly notChecked: readonly NotChecked[]
}

export const attentionPages: ConsoleModule = () => ({ pages: [{ path: '/attention', title: 'Needs attention', view: AttentionPage }] })

/** Items on the overview; the others are on the page of the list. */
const mostOnOverview = 8

function useAttention(): ConsoleData<Listed> {
  return useData<Listed>('/api/attention', { refresh: refreshInterval() })
}

function AttentionPage() {
  const attention = useAttention()
  const { open, seen } = parted(attention.data)
  return (
    <Page title="Needs attention" parent={{ title: 'Overview', to: '/' }}>
      <Card title={attention.data === undefined ? 'Open' : `Open: ${exact(open.length)}`} flush>
        <State of={attention} />
        <Needs items={open} reload={attention.reload} />
      </Card>
      {seen.length > 0 && (
        <Card title={`Acknowledged: ${exact(seen.length)}`} flush>
          <Needs items={seen} reload={attention.reload} />
        </Card>
      )}
    </Page>
  )
}

/** The list on the overview. */
export function NeedsAttention() {
  const attention = useAttention()
  const { open, seen } = parted(attention.data)
  const more = open.length - mostOnOverview
  const words = [...(more > 0 ? [`${exact(more)} more`] : []), ...(seen.length > 0 ? [`${exact(seen.length)} acknowledged`] : [])]
  return (
    <Card title="Needs attention" flush>
      <State of={attention} />
      <Needs items={open.slice(0, mostOnOverview)} reload={attention.reload} />
      {words.length > 0 && (
        <p class="needs-more">
          <Link to="/attention" class="link">
            {words.join(', ')}
          </Link>
        </p>
      )}
    </Card>
  )
}

/** What needs attention about the subject of a page; nothing if nothing does. */
export function NeedsAbout({ subjects }: { readonly subjects: (subject: string) => boolean }) {
  const attention = useAttention()
  const items = (attention.data?.items ?? []).filter(({ subject }) => subjects(subject))
  if (items.length === 0) return null
  return (
    <Card title="Needs attention" flush>
      <Needs items={items} reload={attention.reload} />
    </Card>
  )
}

function parted(data: Listed | undefined): { readonly open: readonly AttentionItem[]; readonly seen: readonly AttentionItem[] } {
  const items = data?.items ?? []
  const isSeen = ({ acknowledged }: AttentionItem): boolean => acknowledged !== undefined
  return { open: items.filter((item) => !isSeen(item)), seen: items.filter(isSeen) }
}

/** What is known: nothing is well that was not checked. */
function State({ of: { at, data, error, reload } }: { readonly of: ConsoleData<Listed> }) {
  const { notChecked = [] } = data ?? {}
  const { open } = parted(data)
  const reasons = [...new Set(notChecked.map(({ reason }) => reason))]
  return (
    <>
      {error !== undefined && <Stale at={at} message={error.message} retry={reload} />}
      {data === undefined && (
        <p class="quiet dim">{error === undefined ? 'Loading…' : 'Not checked: what needs attention could not be read.'}</p>
      )}
      {data !== undefined && error === undefined && open.length === 0 && notChecked.length === 0 && (
        <p class="quiet">
          <Icon name="check" /> Nothing needs attention.
        </p>
      )}
      {notChecked.length > 0 && (
        <div class="not-checked" role="status">
          <p>
            <Icon name="warn" /> Not checked: {plural(new Set(notChecked.map(({ kind }) => kind)).size, 'kind')}
          </p>
          <ul>
            {reasons.map((reason) => (
              <li key={reason}>
                <b>
                  {notChecked
                    .filter((one) => one.reason === reason)
                    .map(({ kind }) => kind)
                    .join(', ')}
                </b>{' '}
                <span class="dim">{reason}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  )
}

function Needs({ items, reload }: { readonly items: readonly AttentionItem[]; readonly reload: () => void }) {
  if (items.length === 0) return null
  return (
    <ul class="needs">
      {items.map((item) => (
        <Need key={item.id} item={item} reload={reload} />
      ))}
    </ul>
  )
}

function Need({ item, reload }: { readonly item: AttentionItem; readonly reload: () => void }) {
  const { acknowledged, cause, severity, since, subject } = item
  const name = subject.replace(/^[^:]*:/, '')
  const here = useAddress().path
  const found = nextOf(item)
  const next = found?.page === here ? undefined : found
  return (
    <li>
      <span class={severity}>
        <Icon name={severity === 'bad' ? 'bad' : 'warn'} />
        <span class="visually-hidden">{severity === 'bad' ? 'Failing' : 'Warning'}</span>
      </span>
      <span class="needs-text">
        {next === undefined ? <b>{name}</b> : <Link to={next.page}>{name}</Link>} {cause}
        {acknowledged !== undefined && (
          <span class="dim needs-note">
            {acknowledged.by.kind} {acknowledged.by.id}, <Time at={acknowledged.at} />: {acknowledged.note}
          </span>
        )}
      </span>
      <DayBar item={item} />
      <span class="dim needs-since">
        <Time at={since} />
      </span>
      <span class="needs-acts">
        {next !== undefined && <ActionButton small label={next.label} run={async () => void router.go(next.page)} />}
        {acknowledged === undefined && can('write') && (
          <button type="button" class="button small" onClick={() => acknowledge(item, name, reload)}>
            Acknowledge…
          </button>
        )}
      </span>
    </li>
  )
}

/**
 * The page where the next step is taken: that of the act, or the page of its queue if the caller may not see the other one. An act of another
 * plugin may be a route, which a browser cannot open without the credentials of this page.
 */
function nextOf({ act: { href, label }, queue = '*' }: AttentionItem): { readonly page: string; readonly label: string } | undefined {
  const isShown = (page: string): boolean => pageAt(page.replace(/[?#].*/, ''), '') !== undefined
  const page = href.startsWith(`${base}/`) ? href.slice(base.length) : undefined
  if (page !== undefined && isShown(page)) return { page, label }
  return queue === '*' ? undefined : { page: path`/queues/${queue}`, label: 'Open the queue' }
}

function acknowledge({ cause, id }: AttentionItem, name: string, reload: () => void): void {
  let note = ''
  ask({
    title: `Acknowledge: ${name}`,
    text: `${cause}. It is listed as acknowledged, with your note, until its cause has gone.`,
    verb: 'Acknowledge',
    fields: (
      <label class="field">
        <span>Note</span>
        <textarea class="input" required maxLength={500} onInput={(event) => (note = event.currentTarget.value)} />
      </label>
    ),
    run: async () => {
      await request('POST', path`/api/attention/${id}/acknowledge`, { note })
      reload()
      return `${name} is acknowledged`
    },
  })
}

/** The last 24 hours, one column each. */
function DayBar({ item: { bar } }: { readonly item: AttentionItem }) {
  const most = Math.max(1, ...bar)
  const hours = bar.filter((value) => value > 0).length
  return (
    <svg class="day-bar" viewBox="0 0 96 16" width={96} height={16} role="img" aria-label={`In ${hours} of the last 24 hours`}>
      {bar.map((value, hour) => {
        const height = value === 0 ? 1 : Math.max(3, (value / most) * 16)
        return <rect key={hour} class={value === 0 ? 'none' : ''} x={hour * 4} y={16 - height} width={3} height={height} />
      })}
    </svg>
  )
}
