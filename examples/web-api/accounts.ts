import { definePlugin, Type } from 'zin'
import { loginUsersService } from 'zin/plugins/login'

/** Customers add themselves. Login, refresh and logout are routes of the plugin login. */
export const accounts = definePlugin({
  name: 'accounts',
  version: '1.0.0',
  description: 'Sign-up of customers',
  uses: { users: loginUsersService },
  setup({ route, services }) {
    route({
      method: 'POST',
      path: '/sign-up',
      summary: 'Add an account',
      use: ['rateLimit:signUp'],
      body: Type.Object(
        { email: Type.String({ format: 'email', maxLength: 320 }), password: Type.String({ minLength: 8, maxLength: 128 }) },
        { additionalProperties: false },
      ),
      response: { 201: Type.Object({ id: Type.String() }) },
      async handler(ctx) {
        const { email, password } = ctx.input.body
        const { id } = await services.users.add({ email, password, role: 'customer' })
        ctx.status = 201
        return { id }
      },
    })
  },
})
