import { after, before } from 'node:test'
import { mysqlDatabase } from '../../../scripts/testing/mysql-database.js'
import { auditContract } from './audit.contract.js'

const store = mysqlDatabase('audit')

before(() => store.create())
after(() => store.drop())

auditContract('MySQL or MariaDB', () => store.env)
