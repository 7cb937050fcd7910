import { defineMigration, useUnicode } from 'zin/plugins/database'

/** The tables, as the database returns their rows. */
export interface Tables {
  products: { id: string; name: string; price: number; stock: number; picture: string | null }
  orders: {
    id: string
    user_id: string
    email: string
    product_id: string
    quantity: number
    total: number
    status: 'placed' | 'shipped' | 'cancelled'
    /** ms since 1970. */
    placed_at: number
  }
}

export const createProducts = defineMigration({
  id: '0001_create_products',
  async up(db) {
    await db.schema
      .createTable('products')
      .ifNotExists()
      .addColumn('id', 'varchar(36)', (column) => column.primaryKey())
      .addColumn('name', 'varchar(100)', (column) => column.notNull().unique())
      .addColumn('price', 'integer', (column) => column.notNull())
      .addColumn('stock', 'integer', (column) => column.notNull())
      .addColumn('picture', 'varchar(50)')
      .execute()
    await useUnicode(db, 'products')
  },
  down: (db) => db.schema.dropTable('products').ifExists().execute(),
})

export const createOrders = defineMigration({
  id: '0001_create_orders',
  async up(db) {
    await db.schema
      .createTable('orders')
      .ifNotExists()
      .addColumn('id', 'varchar(36)', (column) => column.primaryKey())
      .addColumn('user_id', 'varchar(100)', (column) => column.notNull())
      .addColumn('email', 'varchar(320)', (column) => column.notNull())
      .addColumn('product_id', 'varchar(36)', (column) => column.notNull())
      .addColumn('quantity', 'integer', (column) => column.notNull())
      .addColumn('total', 'integer', (column) => column.notNull())
      .addColumn('status', 'varchar(20)', (column) => column.notNull())
      .addColumn('placed_at', 'bigint', (column) => column.notNull())
      .execute()
    await useUnicode(db, 'orders')
  },
  down: (db) => db.schema.dropTable('orders').ifExists().execute(),
})
