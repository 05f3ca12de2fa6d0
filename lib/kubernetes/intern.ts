/** Keeps one copy of strings that many objects share (taint keys, reasons, label values); forgets all beyond `capacity`. */
export const createInterner = (capacity = 4096): ((text: string) => string) => {
  const known = new Map<string, string>();
  return text => {
    const kept = known.get(text);
    if (kept !== undefined) return kept;
    if (known.size >= capacity) known.clear();
    known.set(text, text);
    return text;
  };
};
