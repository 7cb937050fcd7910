/** The file `.editorconfig` of a new app. */
export const editorConfig = `root = true

[*]
charset = utf-8
end_of_line = lf
indent_style = space
indent_size = 2
insert_final_newline = true
trim_trailing_whitespace = true

[*.md]
trim_trailing_whitespace = false
`

/** The file `.github/workflows/ci.yml` of a new app, which runs those of its checks that its package.json has. */
export function ciWorkflow(scripts: readonly string[]): string {
  const checks = ['typecheck', 'test', 'build'].filter((name) => scripts.includes(name))
  return `name: CI
on:
  push:
    branches: [main]
  pull_request:
permissions:
  contents: read
jobs:
  check:
    runs-on: ubuntu-latest
    timeout-minutes: 20
    strategy:
      matrix:
        node: [20, 22, 24]
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-node@v4
        with:
          node-version: \${{ matrix.node }}
          cache: npm
      # Needs package-lock.json, which npm install writes: commit it.
      - run: npm ci
${checks.map((name) => `      - run: ${name === 'test' ? 'npm test' : `npm run ${name}`}\n`).join('')}`
}

/** What an app writes: its packages, builds and data, and secrets, which temporary files of updateEnvFile contain, too. */
export const gitIgnore = 'node_modules/\ndist/\nbuild/\n.zin/\n.env\n.env.new*\n'
