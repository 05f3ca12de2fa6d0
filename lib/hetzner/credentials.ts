/** How a request says who sends it. */
export interface Credentials {
  /** Value of the Authorization header. */
  readonly authorization: string;
  /** Texts that must show up in no log line and no error. */
  readonly secrets: readonly string[];
}

/** Hetzner Cloud: an API token. */
export const bearer = (token: string): Credentials => ({ authorization: `Bearer ${token}`, secrets: [token] });

/** Robot: a user of the web service and the password. */
export const basic = (user: string, password: string): Credentials => {
  const encoded = Buffer.from(`${user}:${password}`).toString('base64');
  return { authorization: `Basic ${encoded}`, secrets: [encoded, password] };
};
