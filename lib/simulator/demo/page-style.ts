/** Style of the page: light and dark by the reader's choice, desk and phone by the width. */
export const pageStyle = `
:root {
  color-scheme: light dark;
  --ground: #ffffff; --card: #f4f6f8; --ink: #1b1f24; --muted: #5a6470; --grid: #e1e5ea; --ready: #b9c3ce;
  --initialise: #2f6fd6; --route: #c96a12; --available: #1f8a5c; --read: #2f6fd6; --write: #c96a12; --poll: #97a3b0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171b; --card: #1d2127; --ink: #e9ecef; --muted: #a0aab5; --grid: #2b3138; --ready: #4a5562;
    --initialise: #79a8ff; --route: #f2a45c; --available: #5fcf9c; --read: #79a8ff; --write: #f2a45c; --poll: #6d7986;
  }
}
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 1040px; margin: 0 auto; padding: 32px 24px 64px; }
h1 { font-size: 28px; line-height: 1.2; margin: 0 0 8px; }
h2 { font-size: 20px; margin: 40px 0 4px; }
p { margin: 4px 0 12px; color: var(--muted); max-width: 72ch; }
ul { list-style: none; margin: 20px 0; padding: 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; }
.tiles li { background: var(--card); border-radius: 8px; padding: 14px 16px; display: flex; flex-direction: column; }
.tiles b { font-size: 26px; line-height: 1.2; font-variant-numeric: tabular-nums; }
.tiles small { color: var(--muted); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 20px; font-size: 14px; margin: 8px 0 12px; }
.legend li { display: flex; align-items: center; gap: 7px; }
.legend i { width: 14px; height: 10px; border-radius: 2px; display: inline-block; }
.legend .read, .legend .write, .legend .poll { width: 9px; height: 9px; border-radius: 50%; }
.legend .ready { height: 2px; }
svg { display: block; width: 100%; height: auto; overflow: visible; font-size: 13px; }
svg text { fill: var(--ink); }
.grid line { stroke: var(--grid); }
.grid text, .phase text, .figure { fill: var(--muted); font-variant-numeric: tabular-nums; }
.phase line { stroke: var(--muted); stroke-dasharray: 2 3; }
line.ready { stroke: var(--ready); stroke-width: 2; }
circle { stroke: var(--ground); stroke-width: 1; }
${['initialise', 'route', 'available', 'ready', 'read', 'write', 'poll']
  .map(name => `.${name} { fill: var(--${name}); }\ni.${name} { background: var(--${name}); }`)
  .join('\n')}
.table { overflow-x: auto; margin: 12px 0; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 6px 20px 6px 0; border-bottom: 1px solid var(--grid); white-space: nowrap; }
th { color: var(--muted); font-weight: 600; }
.phone { display: none; }
@media (max-width: 760px) {
  main { padding: 20px 14px 48px; }
  h1 { font-size: 24px; }
  .desk { display: none; }
  .phone { display: block; }
  svg { font-size: 11px; }
  table { font-size: 13px; }
  th, td { padding-right: 12px; }
  th:first-child, td:first-child { white-space: normal; overflow-wrap: anywhere; min-width: 130px; }
}
`;
