// Serves accounts with better-auth, as its documentation shows for Hono on Node, with one worker for each core.
//
// `node server.js prepare COUNT PASSWORD` creates the tables and the users, and prints a session token of each user.

import cluster from "node:cluster";
import { createHmac } from "node:crypto";
import { availableParallelism } from "node:os";
import { serve } from "@hono/node-server";
import bcrypt from "bcrypt";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { admin, bearer } from "better-auth/plugins";
import { Hono } from "hono";
import { Pool } from "pg";

const { BETTER_AUTH_SECRET, DATABASE_URL, PORT } = process.env;
const COST = 12;
const pool = new Pool({ connectionString: DATABASE_URL });
const auth = betterAuth({
  baseURL: `http://127.0.0.1:${PORT}`,
  database: pool,
  emailAndPassword: {
    enabled: true,
    // The other systems have bcrypt, so this one has it, too, in place of scrypt.
    password: {
      hash: (password) => bcrypt.hash(password, COST),
      verify: ({ hash, password }) => bcrypt.compare(password, hash),
    },
  },
  plugins: [admin(), bearer()],
  // There is no limit, because all load comes from one address.
  rateLimit: { enabled: false },
  secret: BETTER_AUTH_SECRET,
});

async function prepare(count, password) {
  const { runMigrations } = await getMigrations(auth.options);
  await runMigrations();
  const hash = await bcrypt.hash(password, COST);
  await pool.query(
    `INSERT INTO "user" (id, name, email, "emailVerified", "createdAt", "updatedAt", role)
     SELECT n, 'load-user-' || n, 'load-user-' || n || '@example.com', true, now(), now(),
       CASE WHEN n % 10 = 0 THEN 'author' ELSE 'user' END
     FROM generate_series(1001, 1000 + $1::int) AS n`,
    [count],
  );
  await pool.query(
    `INSERT INTO account (id, "accountId", "providerId", "userId", password, "createdAt", "updatedAt")
     SELECT id, id, 'credential', id, $1, now(), now() FROM "user"`,
    [hash],
  );
  await pool.query(
    `INSERT INTO session (id, token, "userId", "expiresAt", "createdAt", "updatedAt")
     SELECT id, md5(random()::text), id, now() + interval '7 days', now(), now() FROM "user"`,
  );
  const { rows } = await pool.query(
    `SELECT token FROM session JOIN "user" AS u ON u.id = "userId" ORDER BY u.id::int`,
  );
  const signed = rows.map(({ token }) => {
    const signature = createHmac("sha256", BETTER_AUTH_SECRET).update(token).digest("base64");
    return `${token}.${signature}`;
  });
  console.log(signed.join("\n"));
  // Without this, autovacuum would run during the measurement.
  await pool.query("VACUUM (ANALYZE)");
  await pool.end();
}

function listen() {
  const app = new Hono();
  app.on(["POST", "GET"], "/api/auth/*", (c) => auth.handler(c.req.raw));
  app.use(async (c, next) => {
    const session = await auth.api.getSession({ headers: c.req.raw.headers });
    if (!session) return c.json({ detail: "Unauthorized" }, 401);
    c.set("user", session.user);
    await next();
  });
  app.get("/profile", (c) => {
    const { name, role } = c.get("user");
    return c.json({ message: `Welcome ${name}!`, role });
  });
  app.get("/admin", (c) => {
    if (c.get("user").role !== "admin") return c.json({ detail: "Forbidden" }, 403);
    return c.json({ message: "Welcome, admin!" });
  });
  serve({ fetch: app.fetch, hostname: "127.0.0.1", port: Number(PORT) });
}

if (process.argv[2] === "prepare") {
  await prepare(Number(process.argv[3]), process.argv[4]);
} else if (cluster.isPrimary) {
  for (let worker = 0; worker < availableParallelism(); worker += 1) cluster.fork();
} else {
  listen();
}
