import { after, before } from 'node:test'
import { mysqlDatabase } from '../scripts/testing/mysql-database.js'
import { migrationsContract } from './migrations.contract.js'

const { env, create, drop } = mysqlDatabase('migrations')

before(create)
after(drop)

migrationsContract('MySQL or MariaDB', env)
