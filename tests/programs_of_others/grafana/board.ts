// SPDX-License-Identifier: Apache-2.0
// What a board of ours may be, by the types that Grafana publishes: those of a dashboard, with the
// options and fields of each kind of panel that we use. What the package does not type (queries of
// Prometheus, options of transformations) is named here, by us. No file of the package is changed.
import type {
  AnnotationQuery,
  Dashboard,
  DataQuery,
  DataSourceRef,
  FieldConfig,
  Panel,
  VariableModel,
} from '@grafana/schema';
import type * as stat from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type * as table from '@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen';
import type * as timeseries from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';

// A type as it is in JSON, where a member of an enumeration is its value.
type Json<T> = unknown extends T
  ? T
  : T extends string
    ? `${T}`
    : T extends number
      ? `${T}` extends `${infer N extends number}`
        ? N
        : never
      : T extends readonly (infer Element)[]
        ? Json<Element>[]
        : T extends object
          ? { [Key in keyof T]: Json<T[Key]> }
          : T;

type With<T, Changes> = Omit<T, keyof Changes> & Changes;

// Ours: the fields of a query of Prometheus that the board uses.
type Query = DataQuery & {
  datasource: DataSourceRef;
  expr: string;
  legendFormat?: string;
  format?: 'time_series' | 'table' | 'heatmap';
  instant?: boolean;
};
type Annotation = With<AnnotationQuery, { target: Query }> & { titleFormat?: string };

// An override sets a field of all panels by its name, or one of this kind as `custom.NAME`.
type Property<Fields> =
  | { [Key in keyof Fields & string]: { id: `custom.${Key}`; value: Fields[Key] } }[keyof Fields &
      string]
  | {
      [Key in keyof FieldConfig & string]: { id: Key; value: FieldConfig[Key] };
    }[keyof FieldConfig & string];

type PanelOf<Kind extends string, Options, Fields> = With<
  Panel,
  {
    type: Kind;
    options: Options;
    targets: Query[];
    fieldConfig: {
      defaults: With<FieldConfig, { custom?: Fields }>;
      overrides: {
        matcher: { id: 'byName'; options: string };
        properties: Required<Property<Fields>>[];
      }[];
    };
  }
>;

export type Board = Json<
  With<
    Dashboard,
    {
      panels: (
        | PanelOf<'stat', stat.Options, Record<string, never>>
        | PanelOf<'table', table.Options, table.FieldConfig>
        | PanelOf<'timeseries', timeseries.Options, timeseries.FieldConfig>
      )[];
      annotations: { list: Annotation[] };
      templating: { list: VariableModel[] };
    }
  >
>;
