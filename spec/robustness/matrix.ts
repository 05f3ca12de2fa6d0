import { type FaultCase, faultsFor } from './faults.ts';
import { type Operation, operations } from './operations.ts';

/** All fields of the fault matrix, and the part of them that stands for the rest. */

export interface Cell {
  readonly operation: Operation;
  readonly fault: FaultCase;
}

export const faults: readonly FaultCase[] = faultsFor(operations);

export const cells: readonly Cell[] = operations.flatMap(operation =>
  faults.filter(fault => fault.fits(operation)).map(fault => ({ operation, fault })),
);

/** Fields that once were wrong: `call x fault`. */
const wereWrong = new Set([
  'list actions x 500 server_error',
  'delete certificate x 500 server_error',
  'create lease x 409',
  'update lease x 409',
  'update lease x reset after',
  'watch leases x 500',
  'load_balancer: add_target x 422 target_already_defined',
  'patch service status x 409',
  'patch service status x 404',
  'list actions x 423 locked',
]);

export const nameOf = ({ operation, fault }: Cell): string => `${operation.name} x ${fault.name}`;

/** Each fault and each call at least once, and what was wrong once. */
export const representative: readonly Cell[] = (() => {
  const chosen = new Set(cells.filter(cell => wereWrong.has(nameOf(cell))));
  const uses = new Map<Operation, number>();
  const choose = (cell: Cell): void => {
    chosen.add(cell);
    uses.set(cell.operation, (uses.get(cell.operation) ?? 0) + 1);
  };
  for (const cell of chosen) choose(cell);
  const usesOf = ({ operation }: Cell): number => uses.get(operation) ?? 0;
  for (const fault of faults) {
    const fitting = cells.filter(cell => cell.fault === fault);
    const [rarest] = fitting.toSorted((a, b) => usesOf(a) - usesOf(b));
    if (rarest !== undefined && !fitting.some(cell => chosen.has(cell))) choose(rarest);
  }
  for (const operation of operations) {
    const first = cells.find(cell => cell.operation === operation);
    if (first !== undefined && !uses.has(operation)) choose(first);
  }
  return cells.filter(cell => chosen.has(cell));
})();
