/** Registry for the tests. */
export const statements = JSON.stringify({
  version: 1,
  statements: {
    'make.items': 'CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, size INTEGER)',
    'item.add': 'INSERT INTO items (name, size) VALUES (?, ?)',
    'item.byName': {
      sql: 'SELECT id, name, size FROM items WHERE name = ?',
      kind: 'read',
      one: true,
      params: [{ name: 'name', type: 'text', maxLength: 20 }],
    },
    'item.all': { sql: 'SELECT name FROM items ORDER BY name', maxRows: 2 },
    'item.grow': { sql: 'UPDATE items SET size = coalesce(size, 0) + 1', maxChanges: 2 },
    'item.count': { sql: 'SELECT count(*) AS n FROM items', one: true },
    broken: 'SELECT * FROM secret_table',
  },
})
