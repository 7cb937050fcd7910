import type { Delivery, EndpointView } from 'zin/plugins/queue-monitor'
import type { ConsoleModule, ConsolePlace } from '../../../contract.js'
import { request } from '../../data/api.js'
import { can, refreshInterval } from '../../data/session.js'
import { useData } from '../../data/use-data.js'
import { exact } from '../../format.js'
import { path } from '../../router.js'
import { Badge } from '../../ui/badge.js'
import { ActionButton } from '../../ui/dialog.js'
import { Icon } from '../../ui/icon.js'
import { Card, Facts, Page } from '../../ui/layout.js'
import { Link } from '../../ui/link.js'
import { Empty, Loaded } from '../../ui/states.js'
import { type Column, Table } from '../../ui/table.js'
import { FullTime, Time } from '../../ui/time.js'
import { NeedsAbout } from '../attention.js'

export const webhookPages: ConsoleModule = () => ({
  pages: [
    { path: '/webhooks', title: 'Webhooks', plugin: 'queue-monitor', nav: { icon: 'webhook', order: 78, key: 'k' }, view: Webhooks },
    { path: '/webhooks/:id', title: 'Webhook', plugin: 'queue-monitor', view: Webhook },
  ],
})

interface Listed {
  readonly webhooks: readonly EndpointView[]
}

interface Deliveries {
  readonly deliveries: readonly Delivery[]
  readonly searched: { readonly jobs: number; readonly of: number; readonly complete: boolean }
}

const mostDeliveries = 100
const queuesOf = ({ queues }: EndpointView): string => (queues === '*' ? 'all' : queues.join(', '))

function Webhooks() {
  const read = useData<Listed>('/api/queue/webhooks', { refresh: refreshInterval() })
  const columns: readonly Column<EndpointView>[] = [
    { key: 'target', title: 'Target', cell: ({ target }) => <span title={target}>{target}</span>, sort: ({ target }) => target },
    { key: 'state', title: 'State', cell: (one) => <State of={one} />, sort: ({ enabled }) => Number(enabled) },
    { key: 'events', title: 'Events', hideOn: 'phone', cell: ({ events }) => <span title={events.join(', ')}>{events.join(', ')}</span> },
    { key: 'queues', title: 'Queues', hideOn: 'tablet', cell: (one) => <span title={queuesOf(one)}>{queuesOf(one)}</span> },
    { key: 'id', title: 'Id', hideOn: 'phone', cell: ({ id }) => <span class="mono">{id}</span> },
  ]
  return (
    <Page title="Webhooks">
      <Loaded from={read}>
        {({ webhooks }) => (
          <Card flush>
            <Table
              label="Webhooks"
              columns={columns}
              rows={webhooks}
              rowKey={({ id }) => id}
              href={({ id }) => path`/webhooks/${id}`}
              empty={<Empty title="No webhooks" />}
            />
          </Card>
        )}
      </Loaded>
    </Page>
  )
}

function State({ of: { disabled } }: { readonly of: EndpointView }) {
  return disabled === null ? <Badge tone="ok">enabled</Badge> : <Badge tone="warn">disabled</Badge>
}

/** An endpoint with its latest deliveries. */
function Webhook({ params: { id = '' } }: ConsolePlace) {
  const read = useData<Listed>('/api/queue/webhooks', { refresh: refreshInterval() })
  const deliveries = useData<Deliveries>(path`/api/queue/webhooks/deliveries?endpoint=${id}&limit=${mostDeliveries}`, {
    refresh: refreshInterval(),
  })
  const endpoint = read.data?.webhooks.find((one) => one.id === id)
  const reload = (): void => {
    read.reload()
    deliveries.reload()
  }
  return (
    <Page
      title={id}
      parent={{ title: 'Webhooks', to: '/webhooks' }}
      badge={endpoint !== undefined && <State of={endpoint} />}
      actions={endpoint !== undefined && can('admin') && <Switch of={endpoint} reload={reload} />}
    >
      <NeedsAbout subjects={(subject) => subject === `webhook:${id}`} />
      <Loaded from={read}>{() => (endpoint === undefined ? <Unknown /> : <Details of={endpoint} />)}</Loaded>
      <Card title="Latest deliveries" flush>
        <Loaded from={deliveries}>{(data) => <DeliveryList of={data} reload={reload} />}</Loaded>
      </Card>
    </Page>
  )
}

function Unknown() {
  return (
    <Card>
      <Empty title="Webhook not found">
        It was removed, or your credentials do not cover its queues. <Link to="/webhooks">Show all webhooks</Link>
      </Empty>
    </Card>
  )
}

function Switch({ of: { disabled, id, target }, reload }: { readonly of: EndpointView; readonly reload: () => void }) {
  const verb = disabled === null ? 'disable' : 'enable'
  return (
    <ActionButton
      label={disabled === null ? 'Disable' : 'Enable'}
      {...(disabled === null
        ? { confirm: { title: `Disable the webhook to ${target}?`, text: 'Events that occur meanwhile are not delivered later.' } }
        : {})}
      run={async () => {
        await request('POST', path`/api/queue/webhooks/endpoints/${id}/${verb}`)
        reload()
        return `The webhook is ${verb}d`
      }}
    />
  )
}

function Details({ of }: { readonly of: EndpointView }) {
  const { createdAt, description, disabled, dropped, events, owner, target } = of
  return (
    <>
      {disabled !== null && (
        <p class="error-line">
          <Icon name="warn" />
          <span>
            Disabled <Time at={disabled.at} />: {disabled.reason}
          </span>
        </p>
      )}
      <Card>
        <Facts
          of={[
            ['Target', target],
            ['Events', events.join(', ')],
            ['Queues', queuesOf(of)],
            ['Description', description || '–'],
            ['Owner', owner === null ? 'the options of the app' : `${owner.kind} ${owner.id}`],
            ['Added or enabled', <FullTime at={createdAt} />],
            ['Dropped in the last 7 days', exact(dropped)],
          ]}
        />
      </Card>
    </>
  )
}

function DeliveryList({ of: { deliveries, searched }, reload }: { readonly of: Deliveries; readonly reload: () => void }) {
  const columns: readonly Column<Delivery>[] = [
    {
      key: 'state',
      title: 'State',
      cell: ({ state }) => <Badge tone={state === 'delivered' ? 'ok' : state === 'failed' ? 'bad' : 'info'}>{state}</Badge>,
    },
    { key: 'event', title: 'Event', cell: ({ event, queue }) => <span title={queue}>{event}</span> },
    {
      key: 'error',
      title: 'Last error',
      hideOn: 'phone',
      cell: ({ error }) => <span title={error ?? ''}>{error ?? '–'}</span>,
      width: '34%',
    },
    {
      key: 'attempts',
      title: 'Attempts',
      numeric: true,
      hideOn: 'tablet',
      cell: ({ attempts, maxAttempts }) => (
        <span>
          {attempts} <small class="dim">of {maxAttempts}</small>
        </span>
      ),
    },
    { key: 'at', title: 'Created', numeric: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
    ...(can('admin')
      ? [
          {
            key: 'resend',
            title: 'Action',
            numeric: true,
            width: '108px',
            cell: ({ id, state }: Delivery) =>
              state === 'failed' && (
                <ActionButton
                  small
                  label="Send again"
                  run={async () => {
                    await request('POST', path`/api/queue/webhooks/deliveries/${id}/resend`)
                    reload()
                    return 'The delivery is being sent again'
                  }}
                />
              ),
          },
        ]
      : []),
  ]
  return (
    <>
      {!searched.complete && (
        <p class="note">
          Searched in the latest {exact(searched.jobs)} of {exact(searched.of)} deliveries of all webhooks
        </p>
      )}
      <Table label="Deliveries" columns={columns} rows={deliveries} rowKey={({ id }) => id} empty={<Empty title="No deliveries" />} />
    </>
  )
}
