// SPDX-License-Identifier: Apache-2.0
// wire.mjs OPENAPI: prints the types of what the daemon answers, as its description has them.
import { readFileSync } from 'node:fs';

const schemas = JSON.parse(readFileSync(process.argv[2], 'utf8')).components.schemas;

function typeOf(schema) {
  if (schema.$ref) return schema.$ref.split('/').pop();
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(' | ');
  const kinds = [schema.type].flat();
  return kinds.map((kind) => ofKind(kind, schema)).join(' | ');
}

function ofKind(kind, schema) {
  switch (kind) {
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return `(${typeOf(schema.items)})[]`;
    case 'object':
      return objectOf(schema);
    default:
      return kind;
  }
}

function objectOf(schema) {
  if (!schema.properties) {
    const values = schema.additionalProperties;
    return `Record<string, ${values ? typeOf(values) : 'never'}>`;
  }
  const needed = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties).map(
    ([name, field]) => `  ${name}${needed.has(name) ? '' : '?'}: ${typeOf(field)};`,
  );
  return `{\n${fields.join('\n')}\n}`;
}

console.log('// SPDX-License-Identifier: Apache-2.0');
console.log('// Made by web/tools/wire.mjs from share/openapi.json. Not edited by hand.\n');
for (const [name, schema] of Object.entries(schemas)) {
  console.log(`export type ${name} = ${typeOf(schema)};\n`);
}
