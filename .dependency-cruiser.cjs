// The direction rules of the code base; each says what to do instead.
const { readFileSync } = require('node:fs')

/** Packages that the build puts into dist. */
const [, list] = /export const bundled = \[([^\]]*)\]/.exec(readFileSync(`${__dirname}/scripts/build/bundled.ts`, 'utf8'))
const bundled = [...list.matchAll(/'([^']+)'/g)].map(([, name]) => name.replaceAll('.', '\\.'))

const test = '\\.(test|contract)\\.ts$'
const runtimeFree = '^core/signing/((bytes|canonical|checks|claim|client|signature-reader|web|web-crypto)|rfc9421/[^/]+)\\.ts$'

/** The layers of core, lowest first: a file imports from its own layer and those below. */
const layers = ['util|errors', 'config|log|services|hooks', 'http|signing|egress', 'host', 'cli|testing', 'index']
const inLayers = (names) => `^core/(${names.join('|')})(/|\\.ts$)`

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...layers.slice(0, -1).map((names, level) => ({
      name: `core-${names.replaceAll('|', '-')}-imports-no-higher-layer`,
      comment: 'Move what both need, types too, to the lower of the two layers.',
      severity: 'error',
      from: { path: inLayers([names]), pathNot: test },
      to: { path: inLayers(layers.slice(level + 1)) },
    })),
    {
      name: 'core-imports-no-plugin',
      comment: 'The core knows no feature: add a hook or a service to it and let the plugin use that.',
      severity: 'error',
      from: { path: '^core/', pathNot: test },
      to: { path: '^(plugins|examples|scripts)/' },
    },
    {
      name: 'core-tests-import-no-plugin',
      comment: 'The core knows no feature; its tests also use scripts/testing.',
      severity: 'error',
      from: { path: `^core/.*${test}` },
      to: { path: '^(plugins|examples|scripts)/', pathNot: '^scripts/testing/' },
    },
    {
      name: 'tests-take-fast-check-with-a-fixed-seed',
      comment: 'Import fc from scripts/testing/properties.ts, so that two runs of the tests do the same.',
      severity: 'error',
      from: { path: '^(core|plugins|scripts)/', pathNot: '^scripts/(fuzz/|testing/properties\\.ts$)' },
      to: { path: '^node_modules/fast-check/' },
    },
    {
      name: 'plugins-import-core-by-its-public-name',
      comment: "Import from 'zin' (or 'zin/testing', 'zin/signing', 'zin/signer'), as a plugin outside of this repository has to.",
      severity: 'error',
      from: { path: '^plugins/' },
      to: { path: '^core/', dependencyTypesNot: ['aliased-tsconfig-paths'] },
    },
    {
      name: 'plugins-import-plugins-by-their-public-name',
      comment: "Import refs and types from 'zin/plugins/<other>'.",
      severity: 'error',
      from: { path: '^plugins/([^/]+)/' },
      to: { path: '^plugins/[^/]+/', pathNot: '^plugins/$1/', dependencyTypesNot: ['aliased-tsconfig-paths'] },
    },
    {
      name: 'plugins-import-nothing-else-of-the-repository',
      comment: 'A plugin uses zin, node, declared packages and its own files; its tests also use scripts/testing.',
      severity: 'error',
      from: { path: '^plugins/' },
      to: { path: '^(examples|scripts)/|^plugins/index\\.ts$', pathNot: '^scripts/testing/' },
    },
    {
      name: 'scripts-testing-is-for-tests',
      comment:
        'The package holds no scripts: only tests, contracts and files of a folder testing/ may use them, themselves or through others.',
      severity: 'error',
      from: { path: '^plugins/', pathNot: `${test}|/testing/` },
      to: { path: '^scripts/testing/', reachable: true },
    },
    {
      name: 'store-imports-no-service-and-no-routes',
      comment: 'routes → service → store.',
      severity: 'error',
      from: { path: '^plugins/[^/]+/store/', pathNot: test },
      to: { path: '^plugins/[^/]+/(routes|service)\\.ts$' },
    },
    {
      name: 'service-imports-no-routes',
      comment: 'routes → service → store.',
      severity: 'error',
      from: { path: '^plugins/[^/]+/service\\.ts$' },
      to: { path: '^plugins/[^/]+/routes\\.ts$' },
    },
    {
      name: 'signer-imports-nothing',
      comment: 'zin/signer runs in browsers and at the edge: it may import its siblings that are of no runtime only.',
      severity: 'error',
      from: { path: runtimeFree, pathNot: test },
      to: { pathNot: runtimeFree },
    },
    {
      name: 'sql-clients-import-nothing',
      comment: 'zin/clients runs in browsers and at the edge: it may import sql-wire, the signer, and types only.',
      severity: 'error',
      from: { path: '^plugins/sql-wire/clients/', pathNot: test },
      to: { pathNot: `^plugins/sql-wire/|${runtimeFree}`, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'edge-worker-imports-no-runtime',
      comment: 'zin/edge runs in workerd: it may import its siblings, plugins/sql-wire and zin/signing/web.',
      severity: 'error',
      from: { path: '^plugins/(edge-proxy/worker|sql-wire)/[^/]+\\.ts$', pathNot: test },
      to: { path: ['^node:', '^core/'], pathNot: runtimeFree, reachable: true },
    },
    {
      name: 'console-page-imports-no-server',
      comment:
        'The page runs in browsers: of other plugins, and of the server side of its own, it may import types only; what both use lies in shared/, or in statistics, which is pure.',
      severity: 'error',
      from: { path: '^plugins/console/(app|shared)/', pathNot: test },
      to: {
        pathNot: ['^plugins/(console/(app|shared)|statistics)/', '^node_modules/(preact|uplot)/', runtimeFree],
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'no-circular',
      comment: 'Split the file that both sides need. Types alone may refer to each other.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-import-of-tests',
      severity: 'error',
      from: { pathNot: test },
      to: { path: test },
    },
    {
      name: 'no-undeclared-package',
      comment: 'Declare it in package.json.',
      severity: 'error',
      from: {},
      // An optional peer counts as undeclared there, and as for development where the tests use it.
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['npm-peer'] },
    },
    {
      name: 'no-development-package-at-run-time',
      comment:
        'Move it to dependencies, or to the bundled packages in scripts/build/bundled.ts. The page of the console is bundled by the build.',
      severity: 'error',
      from: { path: '^(core|plugins)/', pathNot: [test, '^plugins/[^/]+/testing/', '^plugins/console/app/'] },
      to: {
        path: '^node_modules/',
        pathNot: `^node_modules/(${bundled.join('|')})/`,
        dependencyTypes: ['npm-dev'],
        dependencyTypesNot: ['type-only', 'npm-peer'],
      },
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { conditionNames: ['import', 'types', 'node', 'default'], exportsFields: ['exports'] },
  },
}
