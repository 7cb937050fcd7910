import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type AppClient, type Command, defineCommand } from 'zin'
import type { ServiceResponse, ServiceView } from './contract.js'
import { microserviceErrors } from './errors.js'
import { slugPattern } from './schema.js'
import { serviceFiles } from './service-template.js'
import type { FetchAsCaller } from './types/write-types.js'

const named = [{ name: 'name', summary: 'Name of the service' }]
const slug = new RegExp(slugPattern)

async function change(app: AppClient, name: string, verb: 'start' | 'stop'): Promise<ServiceView> {
  const path = `/api/services/${encodeURIComponent(name)}/${verb}`
  return (await app.request<{ service: ServiceView }>({ method: 'POST', path, timeoutMs: 60_000, waitingFor: `the ${verb} of ${name}` }))
    .service
}

function changeCommand(verb: 'start' | 'stop', summary: string): Command {
  return defineCommand({
    name: `service:${verb}`,
    summary,
    args: named,
    needs: 'running app',
    route: `POST /api/services/:name/${verb}`,
    json: true,
    async run({ app, args, print }) {
      const service = await change(app, args.name ?? '', verb)
      if (print.json) print.record(service)
      else print.line(`${service.name} is ${service.state}`)
    },
  })
}

/** Commands that run in any folder. */
export const standaloneCommands: readonly Command[] = [
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

export interface CommandOptions {
  /** Folder of the services, relative to the app. */
  readonly directory: string
  readonly fetch: FetchAsCaller
}

export function microserviceCommands({ directory, fetch }: CommandOptions): readonly Command[] {
  return [
    defineCommand({
      name: 'service:list',
      summary: 'List the services of the running app with their states',
      needs: 'running app',
      route: 'GET /api/services',
      json: true,
      async run({ app, print }) {
        const { services } = await app.request<{ services: readonly ServiceView[] }>({ method: 'GET', path: '/api/services' })
        if (print.json) print.table(services)
        else print.table(services.map(rowOf))
      },
    }),
    defineCommand({
      name: 'service:call',
      summary: 'Call a service through the running app, using its credential',
      args: [...named, { name: 'path', summary: 'Path with query, such as /users/7' }],
      options: {
        method: { type: 'string', summary: 'GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS', default: 'GET' },
        data: { type: 'string', summary: 'Body; sent as JSON if it parses, otherwise as text' },
        timeout: { type: 'int', summary: 'Deadline of the call in ms', min: 1, max: 600_000 },
      },
      needs: 'running app',
      route: 'POST /api/services/:name/call',
      json: true,
      async run({ app, args, options, print }) {
        const { data, method, timeout } = options
        const response = await app.request<ServiceResponse>({
          method: 'POST',
          path: `/api/services/${encodeURIComponent(args.name ?? '')}/call`,
          body: {
            method: method.toUpperCase(),
            path: args.path,
            ...(data === undefined ? {} : { body: bodyOf(data) }),
            ...(timeout === undefined ? {} : { timeout }),
          },
          timeoutMs: (timeout ?? 60_000) + 10_000,
        })
        if (print.json) print.record(response)
        else {
          print.line(String(response.status))
          if (response.data !== undefined)
            print.line(typeof response.data === 'string' ? response.data : JSON.stringify(response.data, null, 2), { verbatim: true })
        }
        return response.status >= 400 ? 1 : 0
      },
    }),
    changeCommand('start', 'Start a service of the running app'),
    changeCommand('stop', 'Drain and stop a service of the running app'),
    defineCommand({
      name: 'service:types',
      summary: 'Write a typed client from the OpenAPI document of a service; without a name, one for each running service',
      args: [{ name: 'name', summary: 'Name of the service', required: false }],
      options: {
        from: {
          type: 'string',
          summary: 'File or URL of the document; default: /openapi.json of the service, fetched through the running app',
        },
        out: { type: 'string', summary: 'File to write (without a name: folder); default: standard output' },
        check: { type: 'boolean', summary: 'Write nothing; exit with 1 if the file at --out is out of date' },
      },
      needs: 'running app',
      async run({ app, args, cwd, options, print }) {
        const { writeTypes } = await import('./types/write-types.js')
        const outdated = await writeTypes({ ...options, name: args.name, app, cwd, fetch, print })
        return outdated === 0 ? 0 : 1
      },
    }),
    defineCommand({
      name: 'make:service',
      summary: 'Create a service with its configuration in src/services/<domain>/<name>',
      args: [{ name: 'name', summary: '<domain>/<name>, such as shop/orders' }],
      needs: 'config',
      async run({ args, host, print }) {
        const [domain = '', name = '', ...rest] = (args.name ?? '').split('/')
        if (rest.length > 0 || ![domain, name].every((text) => slug.test(text) && text.length <= 50))
          throw microserviceErrors.SERVICE_NAME_INVALID(args.name ?? '')
        const folder = join(host.app.rootDir, directory, domain, name)
        await makeFolder(folder)
        for (const [file, text] of Object.entries(serviceFiles(domain, name))) {
          await writeFile(join(folder, file), text, { flag: 'wx' })
          print.line(`created ${[directory, domain, name, file].join('/')}`)
        }
        print.line('It starts with the app when MICROSERVICES=true. Its auth strategy jwt requires SERVICE_JWT_SECRET.')
      },
    }),
  ]
}

function rowOf({ auth, instances, name, state, version, domain }: ServiceView): object {
  const running = instances.filter((instance) => instance.state === 'running').length
  const reason = instances.find((instance) => instance.reason !== undefined)?.reason ?? ''
  const retry = instances.find((instance) => instance.retry !== undefined)?.retry
  return {
    name,
    domain,
    version,
    state,
    auth,
    instances: `${running}/${instances.length}`,
    urls: instances.map(({ url }) => url).join(' '),
    reason: retry === undefined ? reason : `${reason} (next restart at ${retry.at}, ${retry.attempt} of ${retry.of})`,
  }
}

function bodyOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

async function makeFolder(folder: string): Promise<void> {
  await mkdir(dirname(folder), { recursive: true })
  try {
    await mkdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    throw microserviceErrors.SERVICE_EXISTS(folder)
  }
}
