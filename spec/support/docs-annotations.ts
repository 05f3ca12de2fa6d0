import { type AnnotationDefinition, annotations } from '../../lib/controllers/load-balancer/annotations.ts';
import { renderTable } from '../../lib/settings/reference.ts';

/** Markdown table of all annotations of Services, in the order of the code. */
export const annotationReference = (): string => {
  const definitions: readonly (readonly [string, AnnotationDefinition])[] = Object.entries(annotations);
  return renderTable(
    ['Annotation', 'Type', 'Default from', 'Meaning'],
    definitions.map(([name, { type, variable, description }]) => [
      `\`${name}\``,
      type,
      variable === undefined ? '' : `\`${variable}\``,
      description,
    ]),
  );
};
