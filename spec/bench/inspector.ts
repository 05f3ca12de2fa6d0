/** The debugger of another Node.js process, started with `--inspect`. */
export interface Inspector {
  /** Collects its garbage. */
  collectGarbage(): Promise<void>;
  /** The value of an expression in it. */
  evaluate(expression: string): Promise<unknown>;
  close(): void;
}

interface Answer {
  readonly id?: number;
  readonly result?: { readonly result?: { readonly value?: unknown } };
}

export const inspect = async (port: number): Promise<Inspector> => {
  const targets = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as { webSocketDebuggerUrl: string }[];
  const socket = new WebSocket(targets[0]?.webSocketDebuggerUrl ?? '');
  const waiting = new Map<number, (answer: Answer) => void>();
  let sent = 0;
  socket.addEventListener('message', ({ data }) => {
    const answer = JSON.parse(String(data)) as Answer;
    waiting.get(answer.id ?? 0)?.(answer);
    waiting.delete(answer.id ?? 0);
  });
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', reject);
  });
  const send = (method: string, params: object = {}): Promise<Answer> =>
    new Promise(resolve => {
      waiting.set(++sent, resolve);
      socket.send(JSON.stringify({ id: sent, method, params }));
    });
  return {
    collectGarbage: async () => void (await send('HeapProfiler.collectGarbage')),
    evaluate: async expression =>
      (await send('Runtime.evaluate', { expression, returnByValue: true })).result?.result?.value,
    close: () => socket.close(),
  };
};
