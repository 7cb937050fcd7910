import { defineCommand } from 'zin'

/** Commands that run in any folder. */
export const commands = [
  defineCommand({
    name: 'client:types',
    summary: 'Write a typed client for a front end from the OpenAPI document of an app',
    args: [{ name: 'name', summary: 'Name of the client, such as shop' }],
    options: {
      from: { type: 'string', summary: 'File or URL of the document', default: 'http://127.0.0.1:7777/openapi.json' },
      paths: { type: 'string', summary: 'Beginnings of the paths that it has, such as /products,/orders; default: all' },
      out: { type: 'string', summary: 'File to write; default: standard output' },
      check: { type: 'boolean', summary: 'Write nothing; exit with 1 if the file at --out is out of date' },
    },
    needs: 'nothing',
    async run({ args, cwd, options, print }) {
      const { writeWebClient } = await import('./types/write-types.js')
      return await writeWebClient({ ...options, name: args.name ?? '', cwd, print })
    },
  }),
]
