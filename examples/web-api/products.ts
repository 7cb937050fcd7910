import { randomUUID } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { defineErrors, defineOptions, definePlugin, Type } from 'zin'
import { role } from 'zin/plugins'
import { databaseService } from 'zin/plugins/database'
import { createProducts, type Tables } from './tables.js'

const fields = {
  name: Type.String({ minLength: 1, maxLength: 100 }),
  price: Type.Integer({ minimum: 0, maximum: 1_000_000, description: 'In cents' }),
  stock: Type.Integer({ minimum: 0, maximum: 1_000_000 }),
}
const input = Type.Object(fields, { additionalProperties: false })
const product = Type.Object({
  id: Type.String(),
  ...fields,
  picture: Type.Union([Type.String(), Type.Null()], { description: 'Name of the file in /pictures' }),
})
const extensions: Readonly<Record<string, string>> = { 'image/png': 'png', 'image/jpeg': 'jpg', 'image/webp': 'webp' }

export const productErrors = defineErrors({
  PRODUCT_NOT_FOUND: {
    status: 404,
    message: (id: string) => `There is no product "${id}"`,
    when: 'No product has the id',
    fix: 'List the products with `GET /products`',
  },
  PRODUCT_EXISTS: {
    status: 409,
    message: (name: string) => `There is a product "${name}" already`,
    when: 'Another product has the name',
    fix: 'Choose another name',
  },
})

/** Everybody reads the products, admins change them. */
export const products = definePlugin({
  name: 'products',
  version: '1.0.0',
  description: 'Products with pictures',
  uses: { database: databaseService },
  errors: productErrors,
  options: defineOptions(Type.Object({ pictures: Type.String({ default: '.zin/data/pictures', description: 'Folder of the pictures' }) })),
  setup({ host, migration, options, route, services }) {
    const tables = () => services.database.tables<Tables>()
    const pictures = resolve(host.app.rootDir, options.pictures)
    const removePicture = async (name: string | null): Promise<void> => {
      if (name !== null) await rm(join(pictures, name), { force: true })
    }
    const find = async (id: string): Promise<Tables['products']> => {
      const found = await tables().selectFrom('products').selectAll().where('id', '=', id).executeTakeFirst()
      if (found === undefined) throw productErrors.PRODUCT_NOT_FOUND(id)
      return found
    }
    const write = async <Result>(name: string, work: () => Promise<Result>): Promise<Result> => {
      try {
        return await work()
      } catch (error) {
        throw services.database.isUniqueViolation(error) ? productErrors.PRODUCT_EXISTS(name) : error
      }
    }
    const admin = ['auth', role('admin')] as const

    migration(createProducts)
    route({
      method: 'GET',
      path: '/products',
      summary: 'List products by name, at most 100',
      query: Type.Object({ after: Type.String({ default: '', maxLength: 100, description: 'The last name of the page before' }) }),
      response: { 200: Type.Object({ products: Type.Array(product) }) },
      async handler({ input: { query } }) {
        const page = tables().selectFrom('products').selectAll().where('name', '>', query.after)
        return { products: await page.orderBy('name').limit(100).execute() }
      },
    })
    route({
      method: 'GET',
      path: '/products/:id',
      summary: 'Read a product',
      response: { 200: product },
      handler: ({ input: { params } }) => find(params.id),
    })
    route({
      method: 'POST',
      path: '/products',
      summary: 'Add a product',
      use: admin,
      body: input,
      response: { 201: product },
      async handler(ctx) {
        const { body } = ctx.input
        const made = { id: randomUUID(), ...body, picture: null }
        await write(body.name, () => tables().insertInto('products').values(made).execute())
        ctx.status = 201
        return made
      },
    })
    route({
      method: 'PUT',
      path: '/products/:id',
      summary: 'Change a product',
      use: admin,
      body: input,
      response: { 200: product },
      async handler({ input: { body, params } }) {
        const before = await find(params.id)
        await write(body.name, () => tables().updateTable('products').set(body).where('id', '=', params.id).execute())
        return { ...before, ...body }
      },
    })
    route({
      method: 'DELETE',
      path: '/products/:id',
      summary: 'Delete a product',
      use: admin,
      async handler(ctx) {
        const { id, picture } = await find(ctx.input.params.id)
        await tables().deleteFrom('products').where('id', '=', id).execute()
        await removePicture(picture)
        ctx.status = 204
      },
    })
    route({
      method: 'PUT',
      path: '/products/:id/picture',
      summary: 'Upload the picture of a product',
      use: admin,
      bodyType: 'form',
      files: { picture: { types: Object.keys(extensions) } },
      response: { 200: product },
      async handler({ input: { params }, request: { files } }) {
        const before = await find(params.id)
        // A name of its own for each upload, so that browsers may keep it.
        const picture = `${randomUUID()}.${extensions[files.picture.mimetype]}`
        await files.picture.moveTo(join(pictures, picture))
        await tables().updateTable('products').set({ picture }).where('id', '=', before.id).execute()
        await removePicture(before.picture)
        return { ...before, picture }
      },
    })
  },
  async start({ host, options }) {
    await mkdir(resolve(host.app.rootDir, options.pictures), { recursive: true })
  },
})
