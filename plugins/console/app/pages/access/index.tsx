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

/** The caller's identity and permissions, and the devices of their account. */
function Access() {
  return (
    <Page title="Access">
      <Caller />
      {isEnabled('bulletproof') && (credentialKind() === 'device' ? <Devices /> : <NoDevices />)}
    </Page>
  )
}

const kinds: Readonly<Record<string, string>> = {
  local: 'A caller on the app’s own machine, without credentials',
  user: 'An app account',
  key: 'An API key',
  plugin: 'Code in the app',
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
          ['Type', kinds[caller.kind] ?? caller.kind],
          ['Act on jobs, pause queues', word(may.write)],
          ['Purge queues', word(may.admin)],
          ['See payloads', word(may.payload)],
          ['Manage workers; see decisions, resources and plugins', word(may.operate)],
        ]}
      />
      {readOnly && <p class="dim">This console is read-only: all actions are hidden, whatever your permissions are.</p>}
    </Card>
  )
}

function NoDevices() {
  return (
    <Card title="Devices">
      <Empty title="You are not signed in with a device">
        Devices belong to app accounts. Sign in with an app account to see and remove your devices.
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
            empty={<Empty title="No devices" />}
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
          ? 'This is the device you are using: this tab will have to sign in again.'
          : 'Its signatures are no longer accepted. The user will have to sign in again on it.',
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
          {label ?? <span class="mono">{deviceId}</span>} {current && <Badge tone="neutral">this device</Badge>}
        </span>
      ),
      sort: ({ deviceId, label }) => label ?? deviceId,
    },
    { key: 'profile', title: 'Signature profile', cell: ({ profile }) => profile, hideOn: 'phone' },
    {
      key: 'seen',
      title: 'Last seen',
      numeric: true,
      cell: ({ lastSeenAt }) => <Time at={lastSeenAt} />,
      sort: ({ lastSeenAt }) => lastSeenAt,
    },
    {
      key: 'created',
      title: 'Added',
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
        text: 'All your sessions end and all your devices are removed, including this one.',
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
