import type { HookReport, PluginReport, SettingReport } from 'zin'
import { count, duration } from '../../format.js'
import { Badge } from '../../ui/badge.js'
import type { Column } from '../../ui/table.js'
import { bootMs, type PluginsResponse } from './types.js'

const dash = <span class="dim">–</span>

export const pluginColumns: readonly Column<PluginReport>[] = [
  { key: 'name', title: 'Plugin', cell: ({ name }) => name, sort: ({ name }) => name },
  {
    key: 'state',
    title: 'State',
    cell: ({ error, state }) => (
      <span title={error}>
        <Badge tone={state === 'enabled' ? 'ok' : state === 'failed' ? 'bad' : 'neutral'}>{state}</Badge> {error}
      </span>
    ),
    sort: ({ state }) => state,
  },
  { key: 'version', title: 'Version', cell: ({ version }) => <span class="mono">{version}</span>, hideOn: 'phone' },
  {
    key: 'after',
    title: 'Needs',
    cell: ({ after }) => (after.length === 0 ? dash : <span title={after.join(', ')}>{after.join(', ')}</span>),
    hideOn: 'phone',
    width: '34%',
  },
  {
    key: 'provides',
    title: 'Provides',
    cell: ({ provides }) => (provides.length === 0 ? dash : <span title={provides.join(', ')}>{provides.join(', ')}</span>),
    hideOn: 'tablet',
    width: '26%',
  },
  { key: 'boot', title: 'Boot', numeric: true, cell: (plugin) => duration(bootMs(plugin)), sort: bootMs },
]

const failures = ({ listeners }: HookReport): number => listeners.reduce((sum, { errors, timeouts }) => sum + errors + timeouts, 0)

export const hookColumns: readonly Column<HookReport>[] = [
  {
    key: 'name',
    title: 'Hook',
    cell: ({ args, name, summary }) => <span title={`${name}(${args.join(', ')}): ${summary}`}>{name}</span>,
    sort: ({ name }) => name,
  },
  { key: 'kind', title: 'Kind', cell: ({ kind }) => kind, sort: ({ kind }) => kind, hideOn: 'phone' },
  { key: 'owner', title: 'Fired by', cell: ({ owner }) => owner, sort: ({ owner }) => owner, hideOn: 'phone' },
  {
    key: 'listeners',
    title: 'Listeners, in order',
    cell: ({ listeners }) => {
      if (listeners.length === 0) return dash
      const names = listeners.map(({ muted, plugin }) => (muted ? `${plugin} (muted)` : plugin)).join(', ')
      return <span title={names}>{names}</span>
    },
    sort: ({ listeners }) => listeners.length,
    width: '40%',
  },
  {
    key: 'calls',
    title: 'Calls',
    numeric: true,
    cell: ({ listeners }) => count(Math.max(0, ...listeners.map(({ calls }) => calls))),
    sort: ({ listeners }) => Math.max(0, ...listeners.map(({ calls }) => calls)),
    hideOn: 'phone',
  },
  {
    key: 'failures',
    title: 'Failures',
    numeric: true,
    cell: (hook) => (failures(hook) === 0 ? <span class="dim">0</span> : <Badge tone="warn">{count(failures(hook))}</Badge>),
    sort: failures,
  },
]

export const routeColumns: readonly Column<PluginsResponse['routes'][number]>[] = [
  { key: 'method', title: 'Method', cell: ({ method }) => <span class="mono">{method}</span>, sort: ({ method }) => method, width: '80px' },
  {
    key: 'path',
    title: 'Path',
    cell: ({ path }) => (
      <span class="mono" title={path}>
        {path}
      </span>
    ),
    sort: ({ path }) => path,
  },
  { key: 'summary', title: 'Summary', cell: ({ summary }) => <span title={summary}>{summary}</span>, hideOn: 'phone' },
  { key: 'use', title: 'Guarded by', cell: ({ use }) => (use.length === 0 ? dash : use.join(', ')), hideOn: 'phone' },
  { key: 'plugin', title: 'Plugin', cell: ({ plugin }) => plugin, sort: ({ plugin }) => plugin, hideOn: 'tablet' },
]

export const settingColumns: readonly Column<SettingReport>[] = [
  {
    key: 'name',
    title: 'Setting',
    cell: ({ name, summary }) => (
      <span class="mono" title={summary}>
        {name}
      </span>
    ),
    sort: ({ name }) => name,
  },
  {
    key: 'value',
    title: 'Value',
    cell: ({ value }) => (
      <span class="mono" title={value}>
        {value === '' ? '–' : value}
      </span>
    ),
  },
  {
    key: 'source',
    title: 'Source',
    cell: ({ source }) => (source === 'default' ? <span class="dim">default</span> : source),
    sort: ({ source }) => source,
  },
  { key: 'readers', title: 'Read by', cell: ({ readers }) => readers.join(', '), hideOn: 'phone' },
]
