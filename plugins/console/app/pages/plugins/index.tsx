import type { ConsoleModule, ConsolePlace } from '../../../contract.js'
import { useData } from '../../data/use-data.js'
import { exact } from '../../format.js'
import { setQuery } from '../../router.js'
import { Card, Page, TabPanel, Tabs } from '../../ui/layout.js'
import { Empty, Loaded } from '../../ui/states.js'
import { type Column, Table } from '../../ui/table.js'
import { BootGraph } from './boot-graph.js'
import { OnePlugin } from './one-plugin.js'
import { hookColumns, pluginColumns, routeColumns, settingColumns } from './tables.js'
import type { PluginsResponse } from './types.js'

export const pluginPages: ConsoleModule = () => ({
  pages: [{ path: '/plugins', title: 'Plugins', may: 'operate', nav: { icon: 'plugin', order: 80, key: 'p' }, view: Plugins }],
})

const tabs = ['graph', 'hooks', 'routes', 'settings'] as const

function Plugins({ query }: ConsolePlace) {
  const read = useData<PluginsResponse>('/api/console/plugins')
  const tab = tabs.find((one) => one === query.get('tab')) ?? 'graph'
  const text = query.get('q') ?? ''
  return (
    <Page title="Plugins and hooks">
      <Loaded from={read}>
        {(data) => (
          <>
            <Tabs
              label="Plugins"
              current={tab}
              choose={(id) => setQuery({ tab: id === 'graph' ? undefined : id, q: undefined, plugin: undefined })}
              tabs={[
                { id: 'graph', title: 'Boot graph', count: exact(data.plugins.length) },
                { id: 'hooks', title: 'Hooks', count: exact(data.hooks.length) },
                { id: 'routes', title: 'Routes', count: exact(data.routes.length) },
                { id: 'settings', title: 'Settings', count: exact(data.settings.length) },
              ]}
            />
            <TabPanel of={tab}>
              {tab === 'graph' ? (
                <Graph data={data} chosen={query.get('plugin') ?? ''} />
              ) : tab === 'hooks' ? (
                <Filtered
                  label="Hooks"
                  text={text}
                  columns={hookColumns}
                  rows={data.hooks}
                  rowKey={({ name }) => name}
                  words={({ listeners, name, owner }) => [name, owner, ...listeners.map(({ plugin }) => plugin)]}
                />
              ) : tab === 'routes' ? (
                <Filtered
                  label="Routes"
                  text={text}
                  columns={routeColumns}
                  rows={data.routes}
                  rowKey={({ method, path }) => `${method} ${path}`}
                  words={({ method, path, plugin, summary }) => [`${method} ${path}`, plugin, summary]}
                />
              ) : (
                <Filtered
                  label="Settings"
                  text={text}
                  columns={settingColumns}
                  rows={data.settings}
                  rowKey={({ name }) => name}
                  words={({ name, readers, source }) => [name, source, ...readers]}
                />
              )}
            </TabPanel>
          </>
        )}
      </Loaded>
    </Page>
  )
}

function Graph({ chosen, data }: { readonly data: PluginsResponse; readonly chosen: string }) {
  return (
    <>
      <Card>
        <p class="dim graph-note">
          A plugin starts after the plugins connected to its left. Select one to see its dependencies and dependents.
        </p>
        <BootGraph plugins={data.plugins} chosen={chosen} />
      </Card>
      {chosen !== '' && <OnePlugin name={chosen} of={data} />}
      <Card flush>
        <Table
          label="Plugins"
          columns={pluginColumns}
          rows={data.plugins}
          rowKey={({ name }) => name}
          href={({ name }) => `/plugins?plugin=${encodeURIComponent(name)}`}
        />
      </Card>
    </>
  )
}

interface FilteredProps<Row> {
  readonly label: string
  readonly text: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string
  /** The texts matched by the filter. */
  readonly words: (row: Row) => readonly string[]
}

function Filtered<Row>({ columns, label, rowKey, rows, text, words }: FilteredProps<Row>) {
  const wanted = text.toLowerCase()
  const found = rows.filter((row) => words(row).some((word) => word.toLowerCase().includes(wanted)))
  return (
    <>
      <div class="filters">
        <label class="grow">
          <span class="visually-hidden">Filter {label.toLowerCase()}</span>
          <input
            class="input"
            type="search"
            placeholder={`Filter ${exact(rows.length)} ${label.toLowerCase()} by name or plugin`}
            value={text}
            onInput={(event) => setQuery({ q: event.currentTarget.value })}
          />
        </label>
      </div>
      <Card flush>
        <Table
          label={label}
          columns={columns}
          rows={found}
          rowKey={rowKey}
          empty={<Empty title={`No matching ${label.toLowerCase()}`} />}
        />
      </Card>
    </>
  )
}
