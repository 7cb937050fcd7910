// Checks that every plugin has a README with the common sections and a test that compares it with the code (describePlugin), that links
// between documents are valid, that the scripts named in CONTRIBUTING.md exist, and that README.md has every key of the configuration.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const sections = ['What', 'Enable', 'Options', 'Settings', 'Routes', 'Hooks', 'Services', 'Commands', 'Errors']
const needed = ['What', 'Enable']
const pluginFolders = [
  ...readdirSync('plugins').flatMap((name) => (existsSync(`plugins/${name}/index.ts`) ? [`plugins/${name}`] : [])),
  'examples/custom-plugin/rate-shaper',
  'examples/custom-plugin/slow-jobs',
]

function pluginProblems(folder: string): readonly string[] {
  const index = join(folder, 'index.ts')
  // Folders with code that several plugins share are not plugins.
  if (existsSync(index) && !readFileSync(index, 'utf8').includes('definePlugin('))
    return existsSync(join(folder, 'README.md')) ? [] : [`${folder}/README.md is missing`]
  const tests = readdirSync(folder).filter((name) => name.endsWith('.test.ts'))
  const described = tests.some((name) => readFileSync(join(folder, name), 'utf8').includes('describePlugin('))
  const problems = described ? [] : [`${folder}: no test calls describePlugin`]
  const path = join(folder, 'README.md')
  if (!existsSync(path)) return [...problems, `${path} is missing`]
  const titles = [...readFileSync(path, 'utf8').matchAll(/^## (.+?)\s*$/gm)].map((match) => match[1] ?? '')
  const missing = needed.filter((title) => !titles.includes(title)).map((title) => `${path}: the section "${title}" is missing`)
  const order = titles.filter((title) => sections.includes(title))
  const sorted = sections.filter((title) => order.includes(title))
  return [
    ...problems,
    ...missing,
    ...(order.join() === sorted.join() ? [] : [`${path}: the sections must be in the order ${sorted.join(', ')}`]),
  ]
}

function linkProblems(path: string): readonly string[] {
  const links = [...readFileSync(path, 'utf8').matchAll(/\]\((?!\w+:|#)([^)#\s]+)/g)].map((match) => match[1] ?? '')
  return links
    .filter((link) => !existsSync(join(dirname(path), link)))
    .map((link) => `${path}: the target of the link ${link} does not exist`)
}

function documents(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (['node_modules', 'dist', '.git', 'coverage', '.zin'].includes(entry.name)) return []
    const path = join(folder, entry.name)
    return entry.isDirectory() ? documents(path) : entry.name.endsWith('.md') ? [path] : []
  })
}

function scriptProblems(path: string): readonly string[] {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly scripts: Readonly<Record<string, string>> }
  const named = [...readFileSync(path, 'utf8').matchAll(/npm run ([\w:-]+)/g)].map((match) => match[1] ?? '')
  return named.filter((name) => !(name in scripts)).map((name) => `${path}: package.json has no script "${name}"`)
}

function configProblems(): readonly string[] {
  const [, body = ''] = /interface ZinConfig \{\n([\s\S]*?)\n\}/.exec(readFileSync('core/host/define-config.ts', 'utf8')) ?? []
  const keys = [...body.matchAll(/^ {2}readonly (\w+)\?/gm)].map((match) => match[1] ?? '')
  const readme = readFileSync('README.md', 'utf8')
  const missing = keys.filter((key) => !new RegExp(`^\\| \`${key}[.\`]`, 'm').test(readme))
  return keys.length === 0 ? ['ZinConfig was not found'] : missing.map((key) => `README.md: the key "${key}" of defineConfig is missing`)
}

const problems = [
  ...configProblems(),
  ...pluginFolders.flatMap(pluginProblems),
  ...documents('.').flatMap(linkProblems),
  ...scriptProblems('CONTRIBUTING.md'),
]
for (const problem of problems) console.error(problem)
process.exitCode = problems.length > 0 ? 1 : 0
