import type { ConsoleModule } from '../../../contract.js'
import { request } from '../../data/api.js'
import { credentialKind, setCredential } from '../../data/credentials.js'
import { isEnabled, session } from '../../data/session.js'
import { useData } from '../../data/use-data.js'
import { path } from '../../router.js'
import { Badge } from '../../ui/badge.js'
import { ActionButton } from '../../ui/dialog.js'
import { Card, Facts, Page } from '../../ui/layout.js'
import { Empty, Loaded } from '../../ui/states.js'
import { type Column, Table } from '../../ui/table.js'
import { Time } from '../../ui/time.js'

export const accessPages: ConsoleModule = () => ({
  pages: [{ path: '/access', title: 'Access', nav: { icon: 'access', order: 90, key: 'a' }, view: Access }],
})

interface Device {
  readonly deviceId: string
  readonly label?: string
  readonly profile: string
  readonly createdAt: string
  readonly lastSeenAt: string
  readonly current: boolean
}

/** Who uses the console, and what else is signed in as the same user. */
function Access() {
  return (
    <Page title="Access">
      <Caller />
      {isEnabled('bulletproof') && (credentialKind() === 'device' ? <Devices /> : <NoDevices />)}
    </Page>
  )
}

const kinds: Readonly<Record<string, string>> = {
  local: 'A caller on the machine of the app, without credentials',
  user: 'An account of the app',
  key: 'A key',
  plugin: 'Code of the app',
}

function Caller() {
  const boot = session.value
  if (boot === undefined) return null
  const { caller, may, readOnly } = boot
  const word = (allowed: boolean): string => (allowed ? 'yes' : 'no')
  return (
    <Card title="You">
      <Facts
        of={[
          ['Signed in as', <b key="id">{caller.id}</b>],
          ['What that is', kinds[caller.kind] ?? caller.kind],
          ['Retry, cancel and add jobs', word(may.write)],
          ['Purge, pause and stop queues', word(may.admin)],
          ['See payloads', word(may.payload)],
          ['Workers, decisions, resources, plugins', word(may.operate)],
        ]}
      />
      {readOnly && <p class="dim">The console is read-only here: it has no buttons that change anything, whatever you may do.</p>}
    </Card>
  )
}

function NoDevices() {
  return (
    <Card title="Devices">
      <Empty title="You are not signed in with a device">
        Devices belong to accounts of the app. Sign in with an account to see and remove yours.
      </Empty>
    </Card>
  )
}

function Devices() {
  const devices = useData<{ readonly devices: readonly Device[] }>('/auth/devices')
  return (
    <Card title="Your devices" flush aside={isEnabled('login') && session.value?.readOnly !== true && <LogOutEverywhere />}>
      <Loaded from={devices}>
        {({ devices: list }) => (
          <Table
            label="Devices"
            columns={columnsOf(devices.reload)}
            rows={list}
            rowKey={({ deviceId }) => deviceId}
            empty={<Empty title="No device is in use" />}
          />
        )}
      </Loaded>
    </Card>
  )
}

function columnsOf(done: () => void): readonly Column<Device>[] {
  const remove = (device: Device) => (
    <ActionButton
      small
      label="Remove"
      tone="bad"
      confirm={{
        title: `Remove ${device.label ?? device.deviceId}?`,
        text: device.current
          ? 'It is the one that you use now: this tab has to sign in again.'
          : 'Nothing that it signs is accepted any more. Its user has to sign in again there.',
      }}
      run={async () => {
        const { message } = await request<{ message: string }>('DELETE', path`/auth/devices/${device.deviceId}`)
        if (device.current) signOut()
        else done()
        return message
      }}
    />
  )
  return [
    {
      key: 'label',
      title: 'Device',
      cell: ({ current, deviceId, label }) => (
        <span title={deviceId}>
          {label ?? <span class="mono">{deviceId}</span>} {current && <Badge tone="neutral">this one</Badge>}
        </span>
      ),
      sort: ({ deviceId, label }) => label ?? deviceId,
    },
    { key: 'profile', title: 'Signs with', cell: ({ profile }) => profile, hideOn: 'phone' },
    {
      key: 'seen',
      title: 'Last seen',
      numeric: true,
      cell: ({ lastSeenAt }) => <Time at={lastSeenAt} />,
      sort: ({ lastSeenAt }) => lastSeenAt,
    },
    {
      key: 'created',
      title: 'Since',
      numeric: true,
      cell: ({ createdAt }) => <Time at={createdAt} />,
      sort: ({ createdAt }) => createdAt,
      hideOn: 'phone',
    },
    ...(session.value?.readOnly === true ? [] : [{ key: 'act', title: 'Action', cell: remove }]),
  ]
}

function LogOutEverywhere() {
  return (
    <ActionButton
      label="Log out everywhere"
      tone="bad"
      confirm={{
        title: 'Log out everywhere?',
        text: 'All your sessions end and all your devices are removed, this one included.',
        typed: session.value?.caller.id ?? '',
      }}
      run={async () => {
        const { message } = await request<{ message: string }>('POST', '/auth/logout-all')
        signOut()
        return message
      }}
    />
  )
}

function signOut(): void {
  setCredential(undefined)
  location.reload()
}
